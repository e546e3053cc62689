/** Tasks as a grid of cells or as a table, both virtual; one chosen task shows its attempts and logs. */
import { Button, NativeSelect, SegmentedControl } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Container, Job, JobSnapshot, Page, Task } from "../../api/types";
import { count, duration, moment } from "../../format/units";
import { TASK_STATES, tone, word } from "../../format/states";
import { usePaletteCommands } from "../../app/palette/commands";
import { useRead } from "../../live/hooks";
import { usePages } from "../../live/pages";
import { ToneIcon } from "../../ui/icons";
import { Card, Command, Empty, Failed, Loading, State } from "../../ui/parts";
import { useWidth } from "../../ui/width";
import { arrayOf, valuesText } from "./arrays";
import { Logs } from "./Logs";
import { LogsOfTasks } from "./LogsOfTasks";
import { BOTH, STREAMS, attemptOf, attemptsPath, logAddress, taskName as key, taskNamed, terminalAddress, useParams } from "./params";
import { hydractl } from "../../format/shell";

const CELL = 22; // px, with its gap
const ROW = 36;
const SETTLED_MS = 250; // arrow keys choose faster than an address may change

/** A task that an address names need not be among those that are listed. */
type ChosenTask = Pick<Task, "group" | "index"> & Partial<Task>;

/** The socket brings the first 200 tasks; with a filter or beyond them, pages come from the server. */
function useTasks(snapshot: JobSnapshot, group: string, state: string) {
  const { job, tasks } = snapshot;
  const filtered = group !== "" || state !== "";
  const [more, setMore] = useState(false);
  const wanted = filtered || more;
  const moved = job.groups.map((g) => `${g.count}.${g.running}.${g.succeeded}.${g.failed}.${g.killed}`).join();
  const params = new URLSearchParams({ page_size: "200", ...(group && { group }), ...(state && { state }) });
  const pages = usePages<Task>(`/jobs/${job.id}/tasks?${params}`, moved, { enabled: wanted });
  const list = wanted && pages.rows ? pages.rows : filtered ? [] : tasks.results;
  const hasMore = wanted ? pages.more !== null : tasks.next !== null;
  const loadMore = () => (more || filtered ? pages.more?.() : setMore(true));
  return { list, hasMore, loadMore, loading: wanted && !pages.rows && !pages.error, error: wanted ? pages.error : null };
}

/** A failed task where some failed and none of them is listed; else none. */
function useUnlistedFailure(job: Job, tasks: Task[]): Task | undefined {
  const failed = job.groups.reduce((sum, g) => sum + g.failed, 0);
  const wanted = failed > 0 && !tasks.some((t) => t.state === "FAILED");
  return useRead<Page<Task>>(`/jobs/${job.id}/tasks?state=FAILED&page_size=1`, failed, wanted).data?.results[0];
}

/** What is looked at first: a failure, else something that runs, else whatever has a log. */
function mostTelling(tasks: Task[]): Task | undefined {
  const withLog = tasks.filter((t) => t.container !== null);
  return withLog.find((t) => t.state === "FAILED") ?? withLog.find((t) => t.state === "RUNNING") ?? withLog[0];
}

/** The chosen task, `group/index`: by the address, and by what was clicked since, which the address follows. */
function useChosenTask(): [string | null, (name: string) => void] {
  const { get, set } = useParams();
  const named = get("task");
  const [clicked, click] = useState<string | null>(null);
  const news = clicked !== null && clicked !== named;
  useEffect(() => {
    if (!news) return;
    const id = setTimeout(() => { set({ task: clicked, attempt: "" }); click(null); }, SETTLED_MS);
    return () => clearTimeout(id);
  }, [clicked, news]);
  return [clicked ?? named, click];
}

/** `enter`: whether the account may run commands in its containers. */
export function Tasks({ snapshot, enter }: { snapshot: JobSnapshot; enter: boolean }) {
  const { job } = snapshot;
  const { get, set } = useParams();
  const group = job.groups.find((g) => g.name === get("group"))?.name ?? "";
  const state = TASK_STATES.find((s) => s === get("state")) ?? "";
  const shape = get("shape") === "table" ? "table" : "grid";
  const [chosen, choose] = useChosenTask();
  const tasks = useTasks(snapshot, group, state);
  const failure = useUnlistedFailure(job, tasks.list);
  const task: ChosenTask | undefined = tasks.list.find((t) => key(t) === chosen) ?? taskNamed(chosen) ?? failure ?? mostTelling(tasks.list);
  const several = job.groups.reduce((sum, g) => sum + g.count, 0) > 1;
  const ofAll = get("logs") === "all" && several;
  const View = shape === "grid" ? Cells : Rows;
  return (
    <>
      <Card flush title="Tasks" aside={
        <div className="row wrap">
          {job.groups.length > 1 && <NativeSelect aria-label="Group" value={group} onChange={(e) => set({ group: e.currentTarget.value })} data={[{ value: "", label: "All groups" }, ...job.groups.map((g) => g.name)]} />}
          <NativeSelect aria-label="Task state" value={state} onChange={(e) => set({ state: e.currentTarget.value })} data={[{ value: "", label: "Any state" }, ...TASK_STATES.map((s) => ({ value: s, label: word(s) }))]} />
          {several && <SegmentedControl size="xs" aria-label="Logs" value={ofAll ? "all" : "one"} onChange={(v) => set({ logs: v === "all" ? v : "" })} data={[{ value: "one", label: "Log of one" }, { value: "all", label: "Logs of all" }]} />}
          <SegmentedControl size="xs" aria-label="Shown as" value={shape} onChange={(v) => set({ shape: v === "table" ? v : "" })} data={[{ value: "grid", label: "Cells" }, { value: "table", label: "Table" }]} />
        </div>
      }>
        {tasks.error ? <div className="body"><Failed error={tasks.error} /></div>
          : tasks.loading ? <Loading label="Loading tasks" />
          : tasks.list.length === 0 ? <Empty title="No task matches" />
          : <View job={job} tasks={tasks.list} chosen={task ? key(task) : null} onChoose={(t) => choose(key(t))} />}
        <div className="tasks-foot row wrap">
          <div className="legend">{TASK_STATES.map((s) => <span key={s} className={`tone-${tone(s)}`}><span className="state"><ToneIcon tone={tone(s)} size={13} /></span>{word(s)}</span>)}</div>
          <span className="grow" />
          {tasks.hasMore && <><span className="small muted">{count(tasks.list.length)} shown</span><Button variant="default" onClick={tasks.loadMore}>Show more</Button></>}
        </div>
      </Card>
      {ofAll && <LogsOfTasks jobId={job.id} tasks={failure ? [failure, ...tasks.list] : tasks.list} choose={(t) => set({ logs: "", task: key(t), attempt: "" })} />}
      {task && !ofAll && <TaskDetail key={key(task)} jobId={job.id} task={task} enter={enter} values={valuesText(arrayOf(job, task.group), task.index)} />}
    </>
  );
}

interface ViewProps {
  job: Job;
  tasks: Task[];
  chosen: string | null;
  onChoose: (t: Task) => void;
}

function taskText(t: Task, values: string): string {
  return `${t.group} ${t.index}${values && ` (${values})`}: ${word(t.state)}${t.attempts > 1 ? `, attempt ${t.attempts}` : ""}${t.node ? `, on ${t.node}` : ""}${t.exit_code ? `, exit code ${t.exit_code}` : ""}`;
}

function Cells({ job, tasks, chosen, onChoose }: ViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const columns = Math.max(1, Math.floor((useWidth(box) || 600) / CELL));
  const rows = useVirtualizer({ count: Math.ceil(tasks.length / columns), getScrollElement: () => box.current, estimateSize: () => CELL, overscan: 6 });
  const move = (from: number, k: string) => {
    const to = from + ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[k] ?? 0);
    const next = tasks[to];
    if (!next || to === from) return false;
    onChoose(next);
    rows.scrollToIndex(Math.floor(to / columns));
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-at="${to}"]`)?.focus());
    return true;
  };
  const focusable = Math.max(0, tasks.findIndex((t) => key(t) === chosen));
  return (
    <div ref={box} className="cells" role="group" aria-label={`${tasks.length} tasks, a cell each. Arrow keys move.`}>
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => (
          <div key={row.key} className="cells-row" style={{ transform: `translateY(${row.start}px)` }}>
            {tasks.slice(row.index * columns, (row.index + 1) * columns).map((t, i) => {
              const at = row.index * columns + i;
              return (
                <button key={key(t)} type="button" data-at={at} className={`cell tone-${tone(t.state)}`} tabIndex={at === focusable ? 0 : -1} title={taskText(t, valuesText(arrayOf(job, t.group), t.index))}
                  aria-label={taskText(t, valuesText(arrayOf(job, t.group), t.index))} aria-pressed={key(t) === chosen} onClick={() => onChoose(t)} onKeyDown={(e) => { if (move(at, e.key)) e.preventDefault(); }}>
                  <ToneIcon tone={tone(t.state)} size={16} />
                </button>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}

function Rows({ job, tasks, chosen, onChoose }: ViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({ count: tasks.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 10 });
  return (
    <div ref={box} className="task-rows" role="table" aria-label="Tasks" aria-rowcount={tasks.length}>
      <div role="row" className="task-row head">{["Task", "State", "Attempts", "Node", "Exit", "Started", "Ran"].map((h) => <span role="columnheader" key={h}>{h}</span>)}</div>
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const t = tasks[row.index];
          if (!t) return null;
          const ran = t.started_at ? duration((t.finished_at ? Date.parse(t.finished_at) : Date.now()) - Date.parse(t.started_at)) : "–";
          return (
            <div key={row.key} role="row" aria-rowindex={row.index + 1} className="task-row" data-chosen={key(t) === chosen} style={{ transform: `translateY(${row.start}px)`, position: "absolute" }}>
              <span role="cell"><button type="button" className="linkish" onClick={() => onChoose(t)}>{key(t)}</button> <span className="muted small">{valuesText(arrayOf(job, t.group), t.index)}</span></span>
              <span role="cell"><State state={t.state} /></span><span role="cell">{t.attempts}</span><span role="cell" className="clip">{t.node ?? "–"}</span>
              <span role="cell">{t.exit_code ?? "–"}</span><span role="cell" title={moment(t.started_at)}>{t.started_at ? moment(t.started_at).slice(-8) : "–"}</span><span role="cell">{ran}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function TaskDetail({ jobId, task, enter, values }: { jobId: number; task: ChosenTask; enter: boolean; values: string }) {
  const { get, set } = useParams();
  const attempts = usePages<Container>(attemptsPath(jobId, key(task)), `${task.state}${task.container}${task.attempts}`);
  const list = attempts.rows ?? [];
  const { id: container, listed: shown } = attemptOf(list, get("task") === key(task) ? get("attempt") : null, task.container);
  const unlisted = container && !shown ? [{ value: container, label: container }] : [];
  const stream = STREAMS.find((s) => s === get("stream")) ?? BOTH;
  const [, go] = useLocation();
  const terminal = enter && shown?.state === "RUNNING" ? terminalAddress(jobId, key(task)) : null;
  usePaletteCommands(terminal === null ? [] : [{ name: `Open a terminal in ${key(task)}`, words: "shell exec container", run: () => go(terminal) }]);
  return (
    <Card label={`Task ${key(task)}`} flush title={<span className="row">{task.group} <span className="muted">{task.index}</span> {values && <span className="muted small wrap-any">{values}</span>} {task.state && <State state={task.state} />}</span>}
      aside={<>{terminal !== null && <Button variant="default" renderRoot={(props) => <Link href={terminal} {...props} />}>Open a terminal</Button>}<Command text={hydractl("logs", "-f", `${jobId}/${key(task)}`)} />{list.length + unlisted.length > 1 && <NativeSelect aria-label="Attempt" value={container ?? ""} onChange={(e) => set({ task: key(task), attempt: e.currentTarget.value })} data={[...unlisted, ...list.map((c) => ({ value: c.id, label: `Attempt ${c.attempt}: ${word(c.state).toLowerCase()}` }))]} />}
        {attempts.more && <><span className="small muted">the last {count(list.length)}</span><Button variant="default" loading={attempts.reading} onClick={attempts.more}>Show earlier attempts</Button></>}</>}>
      {shown && <AttemptFacts c={shown} />}
      {container ? <Logs key={container} container={container} name={`${jobId}-${task.group}-${task.index}`} stream={stream} choose={(s) => set({ stream: s })} address={logAddress(jobId, key(task), container, stream)} />
        : !attempts.rows && !attempts.error ? <Loading label="Loading the task" />
        : attempts.error ? <div className="body"><Failed error={attempts.error} /></div>
        : <Empty title={task.state ? "It has not started" : "It has not started, or there is no such task"}>Its logs appear here from the first line.</Empty>}
    </Card>
  );
}

function AttemptFacts({ c }: { c: Container }) {
  return (
    <dl className="facts small attempt">
      <div><dt>Container</dt><dd className="mono">{c.id}</dd></div>
      <div><dt>Node</dt><dd>{c.node ?? "–"} <span className="muted">{c.sub_cluster}</span></dd></div>
      <div><dt>Started</dt><dd>{moment(c.started_at)}</dd></div>
      {c.started_at && c.finished_at && <div><dt>Ran</dt><dd>{duration(Date.parse(c.finished_at) - Date.parse(c.started_at))}</dd></div>}
      {c.finished_at && <div><dt>Exit code</dt><dd>{c.exit_code ?? "–"}{c.reason && !["NONE", "EXIT_CODE"].includes(c.reason) ? ` (${c.reason.toLowerCase().replaceAll("_", " ")})` : ""}</dd></div>}
      <div><dt>Memory</dt><dd>{c.peak_memory_mib ? `peak ${c.peak_memory_mib} of ` : ""}{c.memory_mib} MiB</dd></div>
      <div><dt>CPU time</dt><dd>{c.cpu_ms ? duration(c.cpu_ms) : "–"}</dd></div>
    </dl>
  );
}
