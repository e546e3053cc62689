/** The columns of the job list: what each shows, and by what it sorts. */
import type { ReactNode } from "react";
import type { Job } from "../../api/types";
import { ended, word } from "../../format/states";
import { ago, coarse, count, duration, moment } from "../../format/units";
import { progressText, sumGroups, TasksBar } from "../../ui/bars";
import { State } from "../../ui/parts";

export interface Column {
  key: string;
  head: string;
  num?: boolean;
  /** What hydractl calls it. */
  shell: string;
  cell: (job: Job, now: number) => ReactNode;
  /** Where an entry of several lines says what it is, on narrow screens. */
  labelled?: boolean;
  title?: (job: Job) => string;
  /** null: without a value, and so behind all others. */
  value: (job: Job, now: number) => string | number | null;
}

function tookMs(job: Job, now: number): number | null {
  if (job.started_at === null) return null;
  return (job.finished_at ? Date.parse(job.finished_at) : now) - Date.parse(job.started_at);
}

/** From its start, as hydractl has it: how long it waited is not part of it. */
function took(job: Job, now: number): string {
  const ms = tookMs(job, now);
  return ms === null ? "–" : job.finished_at ? duration(ms) : coarse(ms);
}

function Tasks({ job }: { job: Job }) {
  const total = sumGroups(job.groups);
  return <><TasksBar group={total} /><div className="small muted">{progressText(job.kind, total)}{total.failed ? `, ${count(total.failed)} failed` : ""}</div></>;
}

/** hydractl's text of it: sorted by what is done, or of a service runs, and then by how many there are. */
function done(job: Job): string | null {
  const total = sumGroups(job.groups);
  if (total.count === 0) return null;
  return job.kind === "service" ? `${total.running} of ${total.count} running` : `${total.succeeded}/${total.count}`;
}

export function Tags({ tags }: { tags: string[] }) {
  return <div className="row">{tags.slice(0, 4).map((t) => <span key={t} className="tag clip">{t}</span>)}</div>;
}

/** What the first column, which is always there, sorts by. */
export const NAME: Pick<Column, "key" | "head" | "shell" | "value"> = { key: "name", head: "Job", shell: "name", value: (job) => job.name };

export const COLUMNS: Column[] = [
  { key: "state", head: "State", shell: "state", cell: (job) => <State state={job.state} />, value: (job) => word(job.state) },
  { key: "tasks", head: "Tasks", shell: "done", cell: (job) => <Tasks job={job} />, value: done },
  { key: "queue", head: "Queue", shell: "queue", labelled: true, title: (job) => job.queue, cell: (job) => job.queue, value: (job) => job.queue },
  { key: "owner", head: "Owner", shell: "owner", labelled: true, cell: (job) => job.owner, value: (job) => job.owner },
  { key: "kind", head: "Kind", shell: "kind", labelled: true, cell: (job) => job.kind, value: (job) => job.kind },
  { key: "priority", head: "Priority", num: true, shell: "prio", labelled: true, cell: (job) => job.priority, value: (job) => job.priority },
  { key: "home", head: "Home", shell: "home", labelled: true, cell: (job) => job.home, value: (job) => job.home },
  { key: "tags", head: "Tags", shell: "tags", cell: (job) => job.tags.length > 0 && <Tags tags={job.tags} />, value: (job) => job.tags.join(" ") || null },
  { key: "submitted", head: "Submitted", num: true, shell: "submitted", labelled: true, title: (job) => moment(job.submitted_at), cell: (job, now) => ago(job.submitted_at, now), value: (job) => Date.parse(job.submitted_at) },
  { key: "took", head: "Took", num: true, shell: "took", labelled: true, cell: took, value: tookMs },
];

/** The rows in the order of `sort`, a column's key with a "-" before it from the top down; what has no value last. */
export function sorted(jobs: Job[], sort: string, now: number): Job[] {
  const of = [NAME, ...COLUMNS].find(({ key }) => key === sort.replace(/^-/, ""));
  if (!of) return jobs;
  const sign = sort.startsWith("-") ? -1 : 1;
  const compared = (a: string | number | null, b: string | number | null): number => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  };
  return jobs.map((job) => ({ job, value: of.value(job, now) })).sort((a, b) => compared(a.value, b.value)).map(({ job }) => job);
}

/** Of a job that has not ended, why it waits, in the column of its name. */
export const waits = (job: Job): string | null => (ended(job.state) ? null : job.waiting);
