/** A job file as a form or as text, two views of one document. The server checks it as it is written; its errors stand at their fields. */
import { Button, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { fieldError, get, type ApiError } from "../../api/client";
import type { Job, Me } from "../../api/types";
import { Card, Command, Failed, Loading, Notice } from "../../ui/parts";
import { Back } from "../../ui/Back";
import { useKept } from "../../ui/kept";
import { SaveAs } from "../../ui/save";
import { fromSpec } from "./document";
import { Form } from "./Form";
import { FileSlots, Parameters, Sdk, Summary } from "./Side";
import { Problems, Source, Warnings } from "./Source";
import { ruleWords, type Rules } from "./rollout";
import { EXAMPLE, localFiles, located, parse, submitCommand, type Parsed } from "./source";
import { Underway, WhatChanges } from "./Updating";
import { useCheck, useSubmit, type Files, type Values } from "./submitting";
import "./submit.css";

export default function SubmitPage({ me }: { me: Me }) {
  const search = new URLSearchParams(useSearch());
  const update = search.get("update");
  const from = update ?? search.get("from");
  const known = from !== null && /^\d{1,18}$/.test(from) ? from : null;
  const read = useQuery<Job, ApiError>({ queryKey: ["submit-from", known], enabled: known !== null, queryFn: ({ signal }) => get<Job>(`/jobs/${known}`, signal), staleTime: Infinity, gcTime: 0, retry: 1 });
  if (me.role === "viewer") return <Notice>Viewers see everything and change nothing: an operator can give you another role.</Notice>;
  if (known === null) return <Editor me={me} start={EXAMPLE} />;
  if (read.error) return <Failed error={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <Card><Loading label="Loading the job" /></Card>;
  return <Editor key={known} me={me} from={read.data} update={update !== null} start={fromSpec({ ...read.data.spec, queue: read.data.queue })} />;
}

/** As which the job is written, kept in the address. */
function useView(): ["form" | "text", (to: string) => void] {
  const search = useSearch();
  const [path, go] = useLocation();
  const set = (to: string) => {
    const params = new URLSearchParams(search);
    params.set("view", to);
    go(`${path}?${params}`, { replace: true });
  };
  return [new URLSearchParams(search).get("view") === "text" ? "text" : "form", set];
}

/** What the file begins as. */
function Origin({ from }: { from: Job }) {
  return <p className="muted small">As <Link href={`/jobs/${from.id}`}>#{from.id} {from.name}</Link> was submitted, without what is only a default.</p>;
}

function select(area: HTMLTextAreaElement | null, text: string, line: number): void {
  const at = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area?.focus();
  area?.setSelectionRange(at, at + (text.split("\n")[line - 1]?.length ?? 0));
}

interface Written { text: string; values: Values }

function unreadable(parsed: Parsed) {
  return parsed.problems.map((p) => ({ ...fieldError("job", p.message), line: p.line, column: p.column }));
}

function useWritten(me: Me, start: string, from: Job | undefined, update: boolean) {
  const revision = update ? (from?.revision ?? 1) : 0;
  const kept = useKept<Written>(me.username, `${update ? "update" : "submit"}/${from?.id ?? ""}`, { text: start, values: {} }, { of: revision });
  return { ...kept, revision };
}

function Editor({ me, start, from, update = false }: { me: Me; start: string; from?: Job; update?: boolean }) {
  const [view, setView] = useView();
  const [, go] = useLocation();
  const kept = useWritten(me, start, from, update);
  const { text, values } = kept.value;
  const [files, setFiles] = useState<Files>({});
  const area = useRef<HTMLTextAreaElement>(null);
  const parsed = useMemo(() => parse(text), [text]);
  const [rules, setRules] = useState<Rules>({});
  const service = update && from ? { job: from, rules } : undefined;
  const { send, submit, progress } = useSubmit(parsed, values, files, text, kept.forget, service);
  const check = useCheck(parsed, values, text, service);
  const { checked, tried } = check.data ?? {};
  const refused = send.error?.errors.length ? send.error.errors : (check.error?.errors ?? []);
  const errors = refused.length ? located(refused, parsed) : unreadable(parsed);
  const failure = send.error && !send.error.errors.length ? send.error : null;
  const warnings = errors.length ? [] : located((checked ?? tried)?.warnings ?? [], parsed);
  const write = (more: Partial<Written>) => { kept.set({ text, values, ...more }); send.reset(); };
  const jump = (line: number) => { setView("text"); requestAnimationFrame(() => select(area.current, text, line)); };
  return (
    <>
      <div className="page-head row wrap">
        <h1 className="grow">{update ? `Update job ${from?.id}` : "Submit a job"}</h1>
        <SegmentedControl size="xs" aria-label="Written as" value={view} onChange={setView} data={[{ value: "form", label: "Form" }, { value: "text", label: "Text" }]} />
        <SaveAs name="job.yaml" text={text} />
        <Command text={submitCommand(parsed.value, values, update ? from?.id : undefined, ruleWords(rules))} />
        {!update && <Button variant="default" disabled={!parsed.value} onClick={() => go("/schedules/new", { state: { job: text, set: values } })}>Schedule it</Button>}
        <Button loading={send.isPending} disabled={!parsed.value} onClick={submit}>{update ? "Roll out" : "Submit"}</Button>
      </div>
      <Back kept={kept} revision={kept.revision} anew={() => { kept.anew(); send.reset(); }} />
      {service ? <Underway job={service.job} rules={rules} errors={errors} set={(next) => { setRules(next); send.reset(); }} /> : from && <Origin from={from} />}
      <div className="editor">
        {view === "form" && parsed.value ? <Form text={text} value={parsed.value} errors={errors} change={(next) => write({ text: next })} />
          : <Card flush title="Job file" aside={<span className="muted small">{view === "form" ? "The form comes back when this is a job file" : "YAML or JSON"}</span>}>
            <Source text={text} marked={new Set(errors.map((e) => e.line))} area={area} onChange={(next) => write({ text: next })} />
          </Card>}
        <div className="editor-side">
          {failure && <Failed error={failure} />}
          {send.data?.unchanged && <Notice>Unchanged: it runs this already, as revision {send.data.revision ?? 1}.</Notice>}
          {parsed.value && <Parameters value={parsed.value} values={values} errors={errors} set={(name, typed) => write({ values: { ...values, [name]: typed } })} />}
          {errors.length > 0 && <Problems errors={errors} jump={jump} />}
          {warnings.length > 0 && <Warnings errors={warnings} jump={jump} />}
          {parsed.value && <><Sdk value={parsed.value} /><FileSlots wanted={localFiles(parsed.value)} files={files} progress={progress} set={(source, file) => setFiles({ ...files, [source]: file })} /></>}
          {parsed.value && errors.length === 0 && (service ? <WhatChanges tried={tried} checking={check.isPending} /> : <Summary value={parsed.value} me={me} checked={checked} checking={check.isPending} />)}
          {check.error && !check.error.errors.length && !failure && <Notice kind="warn">It could not be checked: {check.error.detail || check.error.title}</Notice>}
        </div>
      </div>
    </>
  );
}
