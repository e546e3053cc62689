/** The last lines of many tasks, the failed ones first, each task's under its name. */
import { Button, NativeSelect } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { MergedLog, Task } from "../../api/types";
import { hydractl } from "../../format/shell";
import { count } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Card, Command, Empty, Failed, Loading, State } from "../../ui/parts";
import { append, EMPTY, type LogState } from "./log";
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

/** `tasks`: as listed; `choose`: show one's whole log. */
export function LogsOfTasks({ jobId, tasks, choose }: { jobId: number; tasks: Task[]; choose: (task: Task) => void }) {
  const [tail, setTail] = useState("20");
  const [last, setLast] = useState("");
  const [most, setMost] = useState(AT_ONCE);
  const all = inOrder(tasks);
  const shown = all.slice(0, most);
  const begin = new URLSearchParams({ tail, ...(last && { last_s: last }) }).toString();
  return (
    <Card flush title="Logs of the listed tasks" aside={
      <>
        <Command text={hydractl("logs", String(jobId), "--tail", tail)} />
        <NativeSelect aria-label="Lines of each task" value={tail} onChange={(e) => setTail(e.currentTarget.value)} data={TAILS} />
        <NativeSelect aria-label="Written" value={last} onChange={(e) => setLast(e.currentTarget.value)} data={SINCE} />
      </>
    }>
      {shown.length === 0 ? <Empty title="None of them has started">Their logs appear here from the first line.</Empty>
        : shown.map((t) => <LogOfTask key={taskName(t)} task={t} begin={begin} choose={() => choose(t)} />)}
      {all.length > shown.length && (
        <div className="logs-foot row"><span className="small muted">{count(shown.length)} of {count(all.length)} tasks</span><Button variant="default" onClick={() => setMost(most + AT_ONCE)}>Show more</Button></div>
      )}
    </Card>
  );
}

/** `begin`: where its log begins, as the API is asked. */
function LogOfTask({ task, begin, choose }: { task: Task; begin: string; choose: () => void }) {
  const read = useRead<MergedLog>(`/containers/${task.container}/logs/merged?${begin}`, task.state, true, task.state === "RUNNING" && FOLLOW_MS);
  const log = read.data ? append(EMPTY, read.data, EMPTY.cursor) : EMPTY;
  const goesOn = read.data && task.state !== "RUNNING" && !read.data.complete;
  return (
    <section className="task-log" aria-label={`Log of ${taskName(task)}`}>
      <h3 className="row small"><button type="button" className="linkish" onClick={choose}>{taskName(task)}</button><State state={task.state} /></h3>
      {read.error ? <div className="body"><Failed error={read.error} /></div>
        : !read.data ? <Loading label="Reading the log" />
        : log.lines.length === 0 ? <p className="small muted">It wrote nothing here.</p>
        : <Lines log={log} name={taskName(task)} />}
      {goesOn && <p className="small muted">More than is shown at once; choose the task for the rest.</p>}
    </section>
  );
}

/** At the end first, where it says why it failed; and again there when more has come, unless somebody has scrolled away. */
function Lines({ log, name }: { log: LogState; name: string }) {
  const box = useRef<HTMLPreElement>(null);
  const stick = useRef(true);
  useEffect(() => {
    if (stick.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log.lines.length]);
  return (
    <pre ref={box} tabIndex={0} aria-label={`Lines of ${name}`} onScroll={(e) => { const el = e.currentTarget; stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < 2 * LINE; }}>
      {log.lines.map((line, i) => <div key={i} data-stderr={log.onStderr[i] || undefined}>{line}</div>)}
    </pre>
  );
}
