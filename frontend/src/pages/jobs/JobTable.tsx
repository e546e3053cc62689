/** The rows of the job list; each can be ticked where its reader may change it. */
import { Link } from "wouter";
import type { Job, Me } from "../../api/types";
import { ended } from "../../format/states";
import { Empty, useNow } from "../../ui/parts";
import { mayAct } from "../job/rights";
import { COLUMNS, NAME, sorted, Tags, waits, type Column } from "./columns";
import { nextSort, type Look } from "./look";

interface Ticks {
  chosen: ReadonlySet<number>;
  choose: (ids: ReadonlySet<number>) => void;
}

function mayTick(job: Job, me: Me): boolean {
  return !ended(job.state) && mayAct(job, me);
}

export function JobTable({ jobs, filtered, me, chosen, choose, look, sort }: { jobs: Job[]; filtered: boolean; me: Me; look: Look; sort: (by: string) => void } & Ticks) {
  const now = useNow();
  if (jobs.length === 0) {
    return filtered ? <Empty title="No job matches these filters" /> : <Empty title="No jobs yet">Submit one here, or with <span className="mono">hydractl submit job.yaml</span>.</Empty>;
  }
  const columns = COLUMNS.filter(({ key }) => look.columns.includes(key));
  const mine = jobs.filter((job) => mayTick(job, me)).map((job) => job.id);
  const all = mine.length > 0 && mine.every((id) => chosen.has(id));
  const toggle = (id: number) => choose(chosen.has(id) ? new Set([...chosen].filter((c) => c !== id)) : new Set([...chosen, id]));
  return (
    <div className="table-wrap">
      <table className="grid stacked jobs">
        <thead><tr>
          <th className="tick"><input type="checkbox" aria-label="Choose all of this page that can be changed" checked={all} disabled={mine.length === 0} onChange={() => choose(new Set(all ? [] : mine))} /></th>
          {[NAME, ...columns].map((column) => <Head key={column.key} column={column} by={look.sort} sort={sort} />)}
        </tr></thead>
        <tbody>{sorted(jobs, look.sort, now).map((job) => <JobRow key={job.id} job={job} columns={columns} now={now} can={mayTick(job, me)} ticked={chosen.has(job.id)} tick={() => toggle(job.id)} />)}</tbody>
      </table>
    </div>
  );
}

function Head({ column, by, sort }: { column: Pick<Column, "key" | "head" | "num">; by: string; sort: (by: string) => void }) {
  const { key, head } = column;
  const [up, down] = [by === key, by === `-${key}`];
  return (
    <th scope="col" className={column.num ? "num" : undefined} aria-sort={up ? "ascending" : down ? "descending" : undefined}>
      <button type="button" className="sorts" onClick={() => sort(nextSort(by, key))}>{head}<span aria-hidden="true">{up ? " ↑" : down ? " ↓" : ""}</span></button>
    </th>
  );
}

function JobRow({ job, columns, now, can, ticked, tick }: { job: Job; columns: Column[]; now: number; can: boolean; ticked: boolean; tick: () => void }) {
  const why = waits(job);
  const tagged = columns.some(({ key }) => key === "tags");
  return (
    <tr data-ticked={ticked || undefined}>
      <td className="tick">{can && <input type="checkbox" aria-label={`Choose job ${job.id}`} checked={ticked} onChange={tick} />}</td>
      <td className="job-name">
        <div className="row"><Link href={`/jobs/${job.id}`} className="clip strong">{job.name}</Link><span className="muted small">#{job.id}</span></div>
        {why ? <div className="muted small clip" title={why}>{why}</div> : job.tags.length > 0 && !tagged && <Tags tags={job.tags} />}
      </td>
      {columns.map((column) => (
        <td key={column.key} className={column.num ? "num" : column.key === "tasks" ? "job-tasks" : column.labelled ? "clip" : undefined}
          data-label={column.labelled ? column.head : undefined} title={column.title?.(job)}>{column.cell(job, now)}</td>
      ))}
    </tr>
  );
}
