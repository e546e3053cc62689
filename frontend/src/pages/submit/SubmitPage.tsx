/** Write or paste a job file; the server validates it, and what it refuses is shown at its line. */
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { ApiError, post } from "../../api/client";
import type { FieldError, Job, Me } from "../../api/types";
import { bytes } from "../../format/units";
import { Check } from "../../ui/icons";
import { Card, Command, Failed, Notice } from "../../ui/parts";
import { EXAMPLE, localFiles, parse, withUploads, type LocalFile, type Parsed } from "./source";
import { upload } from "./upload";

type Files = Record<string, File>;

async function submit(parsed: Parsed, files: Files, key: string): Promise<Job> {
  if (!parsed.value) throw new ApiError(0, "This is not a job file yet", "The lines at fault are marked.");
  const missing = localFiles(parsed.value).filter((f) => !files[f.source]);
  if (missing.length) {
    throw new ApiError(0, "Files are missing", `Choose ${missing.map((f) => f.source).join(", ")} at the right; the browser cannot read them by their path.`);
  }
  const uploads = new Map<string, { digest: string; size: number }>();
  for (const { source } of localFiles(parsed.value)) {
    const file = files[source];
    if (file) uploads.set(source, await upload(file));
  }
  return post<Job>("/jobs", withUploads(parsed.value, uploads), { "Idempotency-Key": key });
}

export default function SubmitPage({ me }: { me: Me }) {
  const [text, setText] = useState(EXAMPLE);
  const [files, setFiles] = useState<Files>({});
  const [, go] = useLocation();
  const area = useRef<HTMLTextAreaElement>(null);
  const parsed = useMemo(() => parse(text), [text]);
  // The same text tried twice (a lost answer, an impatient second click) is one job.
  const key = useMemo(() => `web-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("")}`, [text]); // eslint-disable-line
  const send = useMutation<Job, ApiError>({ mutationFn: () => submit(parsed, files, key), onSuccess: (job) => go(`/jobs/${job.id}`) });
  const errors = send.error?.errors ?? [];
  const marked = new Set([...parsed.problems.map((p) => p.line), ...errors.flatMap((e) => parsed.lineOf(e.field) ?? [])]);
  const jump = (line: number) => {
    const start = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.current?.focus();
    area.current?.setSelectionRange(start, start + (text.split("\n")[line - 1]?.length ?? 0));
  };
  if (me.role === "viewer") return <Notice>Viewers see everything and change nothing: an operator can give you another role.</Notice>;
  return (
    <>
      <div className="page-head row"><h1 className="grow">Submit a job</h1>
        <Command text="hydractl submit job.yaml" /><Button loading={send.isPending} disabled={!parsed.value} onClick={() => send.mutate()}>Submit</Button></div>
      <div className="editor">
        <Card flush title="Job file" aside={<span className="muted small">YAML or JSON</span>}>
          <Source text={text} marked={marked} area={area} onChange={(t) => { setText(t); send.reset(); }} onSubmit={() => send.mutate()} />
        </Card>
        <div className="editor-side">
          {send.error && errors.length === 0 && <Failed error={send.error} />}
          {(errors.length > 0 || parsed.problems.length > 0) && <Problems parsed={parsed} errors={errors} jump={jump} />}
          {parsed.value && <FileSlots wanted={localFiles(parsed.value)} files={files} set={(source, file) => setFiles({ ...files, [source]: file })} />}
          {parsed.value && errors.length === 0 && <Summary value={parsed.value} me={me} />}
        </div>
      </div>
    </>
  );
}

function Source({ text, marked, area, onChange, onSubmit }: {
  text: string; marked: Set<number>; area: React.RefObject<HTMLTextAreaElement | null>; onChange: (t: string) => void; onSubmit: () => void;
}) {
  const lines = text.split("\n").length;
  return (
    <div className="source">
      <div className="gutter" aria-hidden="true">{Array.from({ length: lines }, (_, i) => <div key={i} data-bad={marked.has(i + 1) || undefined}>{i + 1}</div>)}</div>
      <textarea ref={area} aria-label="Job file" aria-invalid={marked.size > 0} spellCheck={false} autoCapitalize="off" autoComplete="off" rows={lines + 1} value={text}
        onChange={(e) => onChange(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) onSubmit(); }} />
    </div>
  );
}

function Problems({ parsed, errors, jump }: { parsed: Parsed; errors: FieldError[]; jump: (line: number) => void }) {
  const rows = [
    ...parsed.problems.map((p) => ({ where: `line ${p.line}`, line: p.line as number | null, message: p.message, remedy: undefined as string | undefined })),
    ...errors.map((e) => ({ where: e.field, line: parsed.lineOf(e.field), message: e.message, remedy: e.remedy })),
  ];
  return (
    <section className="card" role="alert" aria-label="Problems">
      <header><h2>{rows.length === 1 ? "One thing to put right" : `${rows.length} things to put right`}</h2></header>
      {rows.map((r, i) => (
        <button type="button" key={i} className="field-error" onClick={() => r.line && jump(r.line)}>
          <b>{r.where}{r.line && !r.where.startsWith("line") ? `, line ${r.line}` : ""}</b><span>{r.message}</span>{r.remedy && <span className="muted small">{r.remedy}</span>}
        </button>
      ))}
    </section>
  );
}

function FileSlots({ wanted, files, set }: { wanted: LocalFile[]; files: Files; set: (source: string, file: File) => void }) {
  if (wanted.length === 0) return null;
  return (
    <Card title="Files it brings">
      {wanted.map(({ source }) => {
        const file = files[source];
        return (
          <label key={source} className="file-row">
            <span className="mono clip grow">{source}</span>
            {file ? <span className="state tone-succeeded small"><Check /><span>{file.name}, {bytes(file.size)}</span></span> : <span className="muted small">choose</span>}
            <input className="sr" type="file" aria-label={`File for ${source}`} onChange={(e) => { const f = e.currentTarget.files?.[0]; if (f) set(source, f); }} />
          </label>
        );
      })}
    </Card>
  );
}

function Summary({ value, me }: { value: Record<string, unknown>; me: Me }) {
  const groups = Array.isArray(value.groups) ? (value.groups as Record<string, unknown>[]) : [];
  const tasks = groups.reduce((n, g) => n + (typeof g?.count === "number" ? g.count : 1), 0);
  const queues = me.queues.map((q) => q.path);
  return (
    <Card title="What it asks for">
      <dl className="facts small">
        <div><dt>Name</dt><dd className="wrap-any">{String(value.name ?? "–")}</dd></div>
        <div><dt>Groups</dt><dd>{groups.length}</dd></div>
        <div><dt>Tasks</dt><dd>{tasks.toLocaleString("en-US")}</dd></div>
      </dl>
      {queues.length > 0 && <p className="muted small" style={{ marginTop: 10 }}>Your queues: {queues.join(", ")}</p>}
      <p className="muted small" style={{ marginTop: 6 }}>Ctrl+Enter submits. The server checks every field before anything runs.</p>
    </Card>
  );
}
