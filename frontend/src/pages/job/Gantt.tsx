/** Every attempt of the job over time, a row per task, on a canvas; and the same as a table. */
import { Button, SegmentedControl } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Container, Job } from "../../api/types";
import { word } from "../../format/states";
import { count, duration, moment } from "../../format/units";
import { Card, Command, Empty, Failed, Loading, useNow } from "../../ui/parts";
import { AttemptTable } from "./AttemptTable";
import { GanttCanvas } from "./GanttCanvas";
import { layout, pan, readZoom, SUB_COLOURS, writeZoom, zoom, type Bar, type ColourBy, type Span } from "./gantt";
import { useParams } from "./params";
import { useAttempts } from "./useAttempts";
import "./gantt.css";

export default function Gantt({ job }: { job: Job }) {
  const attempts = useAttempts(job);
  const { get, set } = useParams();
  const shape = get("shape") === "table" ? "table" : "chart";
  const by: ColourBy = get("colour") === "sub-cluster" ? "sub-cluster" : "state";
  const list = attempts.data?.list ?? [];
  return (
    <Card flush title="Attempts" aside={
      <div className="row wrap">
        <Command text={`hydractl containers ${job.id}`} />
        {shape === "chart" && <SegmentedControl size="xs" aria-label="Coloured by" value={by} onChange={(v) => set({ colour: v === "state" ? "" : v })} data={[{ value: "state", label: "State" }, { value: "sub-cluster", label: "Sub-cluster" }]} />}
        <SegmentedControl size="xs" aria-label="Attempts shown as" value={shape} onChange={(v) => set({ shape: v === "chart" ? "" : v })} data={[{ value: "chart", label: "Chart" }, { value: "table", label: "Table" }]} />
      </div>
    }>
      {attempts.error && !attempts.data ? <div className="body"><Failed error={attempts.error} retry={() => void attempts.refetch()} /></div>
        : !attempts.data ? <Loading label="Loading attempts" />
        : list.length === 0 ? <Empty title="Nothing has started yet">Each attempt of a task appears here as a bar.</Empty>
        : shape === "table" ? <AttemptTable attempts={list} />
        : <Chart job={job} attempts={list} by={by} at={get("zoom")} setAt={(v) => set({ zoom: v })} />}
      {attempts.data && !attempts.data.complete && <p className="muted small tasks-foot">The first {count(list.length)} attempts; <span className="mono">hydractl containers {job.id} -n 0</span> lists all.</p>}
    </Card>
  );
}

function Chart({ job, attempts, by, at, setAt }: { job: Job; attempts: Container[]; by: ColourBy; at: string | null; setAt: (v: string) => void }) {
  const live = attempts.some((a) => a.finished_at === null);
  const tick = useNow(live ? 1_000 : 3_600_000);
  const g = useMemo(() => layout(attempts, Date.parse(job.submitted_at), tick), [attempts, job.submitted_at, live ? tick : 0]); // eslint-disable-line
  const all: Span = { from: g.from, to: g.to };
  const [span, setSpan] = useState<Span | null>(() => (at ? orWhole(readZoom(at, all), all) : null)); // null: all of it, also what is to come
  const [picked, pick] = useState<Bar | null>(null);
  const shown = span ?? all;
  const move = (next: Span) => setSpan(orWhole(next, all));
  const pending = useRef(setAt);
  pending.current = setAt;
  const written = span ? writeZoom(span, all) : "";
  useEffect(() => { // the address follows once the movement has come to rest
    const id = setTimeout(() => { if (written !== (at ?? "")) pending.current(written); }, 300);
    return () => clearTimeout(id);
  }, [written]); // eslint-disable-line
  const text = `${count(g.bars.length)} attempts of ${count(g.rows.length)} tasks in ${count(g.subClusters.length)} ${g.subClusters.length === 1 ? "sub-cluster" : "sub-clusters"}`;
  return (
    <div className="gantt">
      <div className="row wrap gantt-bar">
        <span className="small muted grow">{text}. Drag to move, Ctrl and wheel or + and - to zoom.</span>
        <Button variant="default" aria-label="Zoom in" onClick={() => move(zoom(shown, all, 0.5))}>+</Button>
        <Button variant="default" aria-label="Zoom out" onClick={() => move(zoom(shown, all, 2))}>−</Button>
        <Button variant="default" disabled={span === null} onClick={() => move(all)}>All of it</Button>
      </div>
      <GanttCanvas g={g} span={shown} by={by} label={`${text}. The table form lists them.`} picked={picked?.attempt.id ?? null} pick={pick}
        zoomAt={(factor, where) => move(zoom(shown, all, factor, where))} panBy={(ms) => move(pan(shown, all, ms))} />
      <Legend by={by} subClusters={g.subClusters} />
      <p className="gantt-picked small" role="status">{picked ? said(picked) : "Point at a bar, or click it, for its facts."}</p>
    </div>
  );
}

function orWhole(span: Span, all: Span): Span | null {
  return writeZoom(span, all) === "" ? null : span;
}

function said({ attempt: a, from, to, open }: Bar): string {
  const end = `${word(a.state)}${a.reason && a.reason !== "NONE" ? ` (${a.reason.toLowerCase().replaceAll("_", " ")})` : ""}${a.exit_code ? `, exit code ${a.exit_code}` : ""}`;
  return `${a.group}/${a.index}, attempt ${a.attempt}: ${end}, ${duration(to - from)}${open ? " so far" : ""} on ${a.node} in ${a.sub_cluster}, from ${moment(a.allocated_at)}`;
}

const STATES = ["ALLOCATED", "RUNNING", "SUCCEEDED", "FAILED", "KILLED", "LOST"];
const TONES: Record<string, string> = { ALLOCATED: "pending", RUNNING: "running", SUCCEEDED: "succeeded", FAILED: "failed", KILLED: "killed", LOST: "lost" };

function Legend({ by, subClusters }: { by: ColourBy; subClusters: string[] }) {
  const entries = by === "state" ? STATES.map((s) => [word(s), `var(--st-${TONES[s]})`] as const)
    : subClusters.map((name, i) => [name, `var(${SUB_COLOURS[i % SUB_COLOURS.length]})`] as const);
  return <div className="legend gantt-bar">{entries.map(([name, colour]) => <span key={name}><svg width="14" height="10" aria-hidden="true"><rect width="14" height="10" rx="2" fill={colour} /></svg>{name}</span>)}</div>;
}
