/** The last lines of many tasks, the failed ones first, each task's under its name. */
import { Button, NativeSelect } from "@mantine/core";
import { useEffect, useRef, useState, type RefObject } from "react";
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
import { WholeLogs } from "./WholeLogs";

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

/** What was gone to last: which finding, and in which task's log. */
export interface Sought {
  finding: string;
  name: string;
}

const NOTHING: Sought = { finding: "", name: "" };

/** Goes to a line once for each finding: which line that is changes with all that running tasks write. The page stays, but for another task's log. */
export function seek(sought: Sought, wanted: Sought, box: HTMLElement, line: Element): Sought {
  if (sought.finding === wanted.finding) return sought;
  const [outer, inner] = [box.getBoundingClientRect(), line.getBoundingClientRect()];
  box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
  if (sought.name !== wanted.name) box.scrollIntoView({ block: "nearest" });
  return wanted;
}

const asLog = (page: MergedLog): LogState => append(EMPTY, page, EMPTY.cursor);

/** `tasks`: as listed; `choose`: show one's whole log. */
export function LogsOfTasks({ jobId, tasks, choose }: { jobId: number; tasks: Task[]; choose: (task: Task) => void }) {
  const [tail, setTail] = useState("20");
  const [last, setLast] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const find = useFind();
  const sought = useRef(NOTHING);
  useEffect(() => {
    if (!find.needle) sought.current = NOTHING;
  }, [find.needle]);
  const all = inOrder(tasks);
  const shown = all.slice(0, most);
  const begin = new URLSearchParams({ tail, ...(last && { last_s: last }) }).toString();
  const reads = useReads<MergedLog, LogState>(shown.map((t) => ({ path: `/containers/${t.container}/logs/merged?${begin}`, signature: t.state, everyMs: t.state === "RUNNING" && FOLLOW_MS })), asLog);
  const hits = hitsIn(reads.map(({ data }) => data?.lines ?? []), find.needle);
  const hit = hits[hitAt(find.at, hits.length) ?? -1];
  return (
    <Card flush title="Logs of the listed tasks" aside={
      <>
        <Command text={hydractl("logs", String(jobId), "--tail", tail, ...(last ? ["--since", `${last}s`] : []))} />
        <NativeSelect aria-label="Lines of each task" value={tail} onChange={(e) => setTail(e.currentTarget.value)} data={TAILS} />
        <NativeSelect aria-label="Written" value={last} onChange={(e) => setLast(e.currentTarget.value)} data={SINCE} />
        {shown.length > 0 && <div className="row finds"><Find find={find} hits={hits.length} label="Find in these logs" /></div>}
      </>
    }>
      {find.needle && <WholeLogs jobId={jobId} needle={find.needle} />}
      {shown.length === 0 ? <Empty title="None of them has started">Their logs appear here from the first line.</Empty>
        : shown.map((t, i) => <LogOfTask key={taskName(t)} task={t} read={reads[i]!} choose={() => choose(t)} needle={find.needle} finding={`${find.at} ${find.needle}`} sought={sought} hit={hit?.task === i ? hit.line : undefined} found={hits.filter(({ task }) => task === i).length} />)}
      {all.length > shown.length && (
        <div className="logs-foot row"><span className="small muted">{count(shown.length)} of {count(all.length)} tasks</span><Button variant="default" onClick={() => setMost(most + AT_ONCE)}>Show more</Button></div>
      )}
    </Card>
  );
}

/** How a task's log is looked through. */
interface Looked {
  needle: string;
  /** What is looked for and how far on: other with every step to another hit. */
  finding: string;
  sought: RefObject<Sought>;
  /** Of its lines, the one that is looked at among those found. */
  hit: number | undefined;
}

function LogOfTask({ task, read, choose, found, ...looked }: { task: Task; read: ReturnType<typeof useReads<MergedLog, LogState>>[number]; choose: () => void; found: number } & Looked) {
  const log = read.data;
  // What is kept from before the task ended says nothing of its end.
  const goesOn = log && !read.isPlaceholderData && task.state !== "RUNNING" && !log.complete;
  return (
    <section className="task-log" aria-label={`Log of ${taskName(task)}`}>
      <h3 className="row small"><button type="button" className="linkish" onClick={choose}>{taskName(task)}</button><State state={task.state} />{looked.needle && <span className="muted">{found ? `${many(found, "line")} found` : "nothing found"}</span>}</h3>
      {read.error ? <div className="body"><Failed error={read.error as ApiError} /></div>
        : !log ? <Loading label="Reading the log" />
        : log.lines.length === 0 ? <p className="small muted">It wrote nothing here.</p>
        : <Lines log={log} name={taskName(task)} {...looked} />}
      {goesOn && <p className="small muted">More than is shown at once; choose the task for the rest.</p>}
    </section>
  );
}

/** At the end first, where it says why it failed; and again there when more has come, unless somebody has scrolled away. */
function Lines({ log, name, needle, finding, sought, hit }: { log: LogState; name: string } & Looked) {
  const box = useRef<HTMLPreElement>(null);
  const stick = useRef(true);
  useEffect(() => {
    if (stick.current && hit === undefined && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.lines.length, hit]);
  useEffect(() => {
    const line = hit === undefined ? undefined : box.current?.children[hit];
    if (box.current && line) sought.current = seek(sought.current, { finding, name }, box.current, line);
  }, [hit, finding, name, sought]);
  return (
    <pre ref={box} tabIndex={0} aria-label={`Lines of ${name}`} onScroll={(e) => { const el = e.currentTarget; stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < 2 * LINE; }}>
      {log.lines.map((line, i) => <div key={i} data-hit={i === hit || undefined} data-stderr={log.onStderr[i] || undefined}><Marked line={line} needle={needle} /></div>)}
    </pre>
  );
}
