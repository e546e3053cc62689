/** The last lines of many tasks, the failed ones first, each task's under its name. */
import { Button, NativeSelect } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { ApiError } from "../../api/client";
import type { MergedLog, Task } from "../../api/types";
import { hydractl } from "../../format/shell";
import { count, many } from "../../format/units";
import { useReads } from "../../live/hooks";
import { Card, Command, Empty, Failed, Loading, State } from "../../ui/parts";
import { Find, hitAt, useFind } from "./Find";
import { append, EMPTY, matches, type LogState } from "./log";
import { Marked } from "./Marked";
import { taskName } from "./params";

const AT_ONCE = 20;
const LINE = 19; // px
const FOLLOW_MS = 3_000;
const TAILS = ["20", "100", "500"].map((lines) => ({ value: lines, label: `Last ${lines} lines` }));
const SINCE = [
  { value: "", label: "Whenever" },
  { value: "600", label: "Last 10 minutes" },
  { value: "3600", label: "Last hour" },
  { value: "86400", label: "Last day" },
];

/** Failed ones first, else as they come; without those that have no log. */
export function inOrder(tasks: Task[]): Task[] {
  const withLog = tasks.filter((t) => t.container !== null);
  return [...withLog.filter((t) => t.state === "FAILED"), ...withLog.filter((t) => t.state !== "FAILED")];
}

export interface Hit {
  /** Which of the tasks, and which of its lines. */
  task: number;
  line: number;
}

/** Lines that hold the text, task by task. */
export function hitsIn(logs: string[][], needle: string): Hit[] {
  return logs.flatMap((lines, task) => matches(lines, needle).map((line) => ({ task, line })));
}

const asLog = (page: MergedLog): LogState => append(EMPTY, page, EMPTY.cursor);

/** `tasks`: as listed; `choose`: show one's whole log. */
export function LogsOfTasks({ jobId, tasks, choose }: { jobId: number; tasks: Task[]; choose: (task: Task) => void }) {
  const [tail, setTail] = useState("20");
  const [last, setLast] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const find = useFind();
  const all = inOrder(tasks);
  const shown = all.slice(0, most);
  const begin = new URLSearchParams({ tail, ...(last && { last_s: last }) }).toString();
  const reads = useReads<MergedLog, LogState>(shown.map((t) => ({ path: `/containers/${t.container}/logs/merged?${begin}`, signature: t.state, everyMs: t.state === "RUNNING" && FOLLOW_MS })), asLog);
  const hits = hitsIn(reads.map(({ data }) => data?.lines ?? []), find.needle);
  const hit = hits[hitAt(find.at, hits.length) ?? -1];
  return (
    <Card flush title="Logs of the listed tasks" aside={
      <>
        <Command text={hydractl("logs", String(jobId), "--tail", tail)} />
        <NativeSelect aria-label="Lines of each task" value={tail} onChange={(e) => setTail(e.currentTarget.value)} data={TAILS} />
        <NativeSelect aria-label="Written" value={last} onChange={(e) => setLast(e.currentTarget.value)} data={SINCE} />
        {shown.length > 0 && <div className="row finds"><Find find={find} hits={hits.length} label="Find in these logs" /></div>}
      </>
    }>
      {shown.length === 0 ? <Empty title="None of them has started">Their logs appear here from the first line.</Empty>
        : shown.map((t, i) => <LogOfTask key={taskName(t)} task={t} read={reads[i]!} choose={() => choose(t)} needle={find.needle} hit={hit?.task === i ? hit.line : undefined} found={hits.filter(({ task }) => task === i).length} />)}
      {all.length > shown.length && (
        <div className="logs-foot row"><span className="small muted">{count(shown.length)} of {count(all.length)} tasks</span><Button variant="default" onClick={() => setMost(most + AT_ONCE)}>Show more</Button></div>
      )}
    </Card>
  );
}

/** `hit`: of its lines, the one that is looked at among those found. */
function LogOfTask({ task, read, choose, needle, hit, found }: { task: Task; read: ReturnType<typeof useReads<MergedLog, LogState>>[number]; choose: () => void; needle: string; hit: number | undefined; found: number }) {
  const log = read.data;
  const goesOn = log && task.state !== "RUNNING" && !log.complete;
  return (
    <section className="task-log" aria-label={`Log of ${taskName(task)}`}>
      <h3 className="row small"><button type="button" className="linkish" onClick={choose}>{taskName(task)}</button><State state={task.state} />{needle && <span className="muted">{found ? `${many(found, "line")} found` : "nothing found"}</span>}</h3>
      {read.error ? <div className="body"><Failed error={read.error as ApiError} /></div>
        : !log ? <Loading label="Reading the log" />
        : log.lines.length === 0 ? <p className="small muted">It wrote nothing here.</p>
        : <Lines log={log} name={taskName(task)} needle={needle} hit={hit} />}
      {goesOn && <p className="small muted">More than is shown at once; choose the task for the rest.</p>}
    </section>
  );
}

/** At the end first, where it says why it failed; and again there when more has come, unless somebody has scrolled away. */
function Lines({ log, name, needle, hit }: { log: LogState; name: string; needle: string; hit: number | undefined }) {
  const box = useRef<HTMLPreElement>(null);
  const stick = useRef(true);
  useEffect(() => {
    if (stick.current && hit === undefined && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.lines.length, hit]);
  useEffect(() => {
    if (hit !== undefined) box.current?.children[hit]?.scrollIntoView({ block: "center" });
  }, [hit]);
  return (
    <pre ref={box} tabIndex={0} aria-label={`Lines of ${name}`} onScroll={(e) => { const el = e.currentTarget; stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < 2 * LINE; }}>
      {log.lines.map((line, i) => <div key={i} data-hit={i === hit || undefined} data-stderr={log.onStderr[i] || undefined}><Marked line={line} needle={needle} /></div>)}
    </pre>
  );
}
