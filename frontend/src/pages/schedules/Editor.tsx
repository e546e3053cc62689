/** A schedule that is made or changed: its times as a form, its job file as text. The server says what both come to while they are written. */
import { Button } from "@mantine/core";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { fieldError } from "../../api/client";
import type { Me } from "../../api/types";
import { useRead } from "../../live/hooks";
import { Card, Command, Failed, Loading, Notice, useNow } from "../../ui/parts";
import { Back } from "../../ui/Back";
import { useCtrlEnter } from "../../ui/ctrlenter";
import { useKept } from "../../ui/kept";
import { SaveAs } from "../../ui/save";
import { FileSlots, Parameters, Sdk, wouldGoTo } from "../submit/Side";
import { Problems, Source, Warnings } from "../submit/Source";
import { localFiles, located, parse } from "../submit/source";
import "../submit/submit.css";
import type { Files } from "../submit/submitting";
import { command, fresh, fromDetail, OWN, sorted, type Draft } from "./draft";
import { usePreview, useSave } from "./saving";
import { Times } from "./Times";
import type { Preview, ScheduleDetail } from "./types";
import { Upcoming } from "./Upcoming";

/** What the page that leads here has handed over, such as the job file of the submit page. */
function handedOver(): { job?: string; set?: Record<string, string> } {
  const state = (history.state ?? {}) as { job?: unknown; set?: unknown };
  return typeof state.job === "string" ? { job: state.job, set: (state.set ?? {}) as Record<string, string> } : {};
}

export function NewSchedule({ me }: { me: Me }) {
  const [{ job, set }] = useState(handedOver);
  const [start] = useState(() => fresh(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC", job, set));
  return <Editor start={start} me={me} fresh={job !== undefined} />;
}

export function ChangeSchedule({ id, me }: { id: string; me: Me }) {
  const read = useRead<ScheduleDetail>(`/schedules/${id}`, "edit");
  const [known, setKnown] = useState<ScheduleDetail>();
  if (read.data && !known) setKnown(read.data); // as it was when one began to write
  if (known) return <Editor start={fromDetail(known)} known={known} me={me} />;
  return <><h1>Change schedule {id}</h1>{read.error ? <Failed error={read.error} retry={() => void read.refetch()} /> : <Card><Loading label="Loading the schedule" /></Card>}</>;
}

/** The declared parameters but for those that the schedule gives itself. */
function others(value: Record<string, unknown>): Record<string, unknown> {
  const declared = value.parameters;
  if (typeof declared !== "object" || declared === null) return value;
  return { ...value, parameters: Object.fromEntries(Object.entries(declared).filter(([name]) => !OWN.includes(name))) };
}

function useWritten(me: Me, start: Draft, known: ScheduleDetail | undefined, handed: boolean) {
  const revision = known?.revision ?? 0;
  const kept = useKept<Draft>(me.username, `schedule/${known?.id ?? ""}`, start, { of: revision, fresh: handed });
  const set = (next: Draft) => {
    if (handed) history.replaceState(null, ""); // from now on a reload finds what is written here
    kept.set(next);
  };
  return { ...kept, set, revision };
}

function Editor({ start, known, me, fresh: handed = false }: { start: Draft; known?: ScheduleDetail; me: Me; fresh?: boolean }) {
  const kept = useWritten(me, start, known, handed);
  const draft = kept.value;
  const [files, setFiles] = useState<Files>({});
  const area = useRef<HTMLTextAreaElement>(null);
  const parsed = useMemo(() => parse(draft.job), [draft.job]);
  const preview = usePreview(draft, parsed);
  const { send, progress } = useSave(draft, parsed, files, kept.forget, known);
  const set = (more: Partial<Draft>) => { kept.set({ ...draft, ...more }); send.reset(); };
  const { form, job } = sorted(send.error?.errors.length ? send.error.errors : (preview.error?.errors ?? []));
  const unreadable = parsed.problems.map((p) => ({ ...fieldError("job", p.message), line: p.line, column: p.column }));
  const errors = parsed.value ? located(job, parsed) : unreadable;
  const save = () => { if (parsed.value && !send.isPending) send.mutate(); };
  useCtrlEnter(save);
  const jump = (line: number) => area.current?.setSelectionRange(...lineOf(draft.job, line)) ?? undefined;
  return (
    <>
      <div className="page-head row wrap">
        <h1 className="grow">{known ? `Change ${known.name}` : "New schedule"}</h1>
        <SaveAs name="job.yaml" text={draft.job} />
        <Button loading={send.isPending} disabled={!parsed.value} onClick={save}>{known ? "Change" : "Create"}</Button>
      </div>
      <div className="row"><Command text={command(draft, known?.id)} /></div>
      <Back kept={kept} revision={kept.revision} anew={() => { kept.anew(); send.reset(); }} />
      {known && known.owner !== me.username && <Notice>Its jobs are <strong>{known.owner}</strong>&apos;s. What is written here has to be a job that you may submit as well.</Notice>}
      <div className="editor">
        <div className="form">
          <Times draft={draft} errors={form} set={set} />
          <Card flush title="Job file" aside={<span className="muted small">Its parameters <span className="mono">schedule_time</span> and <span className="mono">schedule_date</span> get the time</span>}>
            <Source text={draft.job} marked={new Set(errors.map((e) => e.line))} area={area} onChange={(text) => set({ job: text })} />
          </Card>
        </div>
        <div className="editor-side">
          {send.error && !send.error.errors.length && <Failed error={send.error} />}
          {send.error && form.length > 0 && <Notice kind="bad">It was not kept: see what stands at its fields.</Notice>}
          <Told draft={draft} preview={preview.data} />
          {errors.length > 0 && <Problems errors={errors} jump={(line) => { jump(line); area.current?.focus(); }} />}
          {errors.length === 0 && (preview.data?.warnings.length ?? 0) > 0 && <Warnings errors={sorted(preview.data?.warnings ?? []).job} jump={jump} />}
          {parsed.value && <Parameters value={others(parsed.value)} values={draft.set} errors={form} set={(name, typed) => set({ set: { ...draft.set, [name]: typed } })} />}
          {parsed.value && <><Sdk value={parsed.value} /><FileSlots wanted={localFiles(parsed.value)} files={files} progress={progress} set={(source, file) => setFiles({ ...files, [source]: file })} /></>}
          {preview.error && !preview.error.errors.length && <Notice kind="warn">It could not be checked: {preview.error.detail || preview.error.title}</Notice>}
          <Leave known={known}>Only this tab keeps it before you {known ? "change" : "create"} it.</Leave>
        </div>
      </div>
    </>
  );
}

function lineOf(text: string, line: number): [number, number] {
  const at = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  return [at, at + (text.split("\n")[line - 1]?.length ?? 0)];
}

/** When it would start, and what would become of a job that it started now. */
function Told({ draft, preview }: { draft: Draft; preview: Preview | undefined }) {
  const now = useNow();
  if (!preview) return <Card title="Next times"><p className="muted" role="status">Told as soon as all of it is sound</p></Card>;
  return (
    <>
      <Upcoming words={preview.words} zone={draft.zone} times={preview.upcoming} now={now} />
      {preview.outlook && <Card title="Were it started now"><dl className="facts small"><div><dt>Queue</dt><dd className="wrap-any">{preview.queue}</dd></div><div><dt>Would go to</dt><dd>{wouldGoTo(preview.outlook)}</dd></div><div><dt>Would start</dt><dd>{preview.outlook.estimate.text}</dd></div></dl></Card>}
    </>
  );
}

function Leave({ known, children }: { known: ScheduleDetail | undefined; children: ReactNode }) {
  return <p className="muted small">{children} <Link href={known ? `/schedules/${known.id}` : "/schedules"}>Leave it</Link></p>;
}
