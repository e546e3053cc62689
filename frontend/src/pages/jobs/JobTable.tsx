/** The rows of the job list; each can be ticked where its reader may change it. */
import { Link } from "wouter";
import type { Job, Me } from "../../api/types";
import { ended } from "../../format/states";
import { ago, coarse, count, duration, moment } from "../../format/units";
import { progressText, sumGroups, TasksBar } from "../../ui/bars";
import { Empty, State, useNow } from "../../ui/parts";
import { mayAct } from "../job/rights";

interface Ticks {
  chosen: ReadonlySet<number>;
  choose: (ids: ReadonlySet<number>) => void;
}

function mayTick(job: Job, me: Me): boolean {
  return !ended(job.state) && mayAct(job, me);
}

export function JobTable({ jobs, filtered, me, chosen, choose }: { jobs: Job[]; filtered: boolean; me: Me } & Ticks) {
  const now = useNow();
  if (jobs.length === 0) {
    return filtered ? <Empty title="No job matches these filters" /> : <Empty title="No jobs yet">Submit one here, or with <span className="mono">hydractl submit job.yaml</span>.</Empty>;
  }
  const mine = jobs.filter((job) => mayTick(job, me)).map((job) => job.id);
  const all = mine.length > 0 && mine.every((id) => chosen.has(id));
  const toggle = (id: number) => choose(chosen.has(id) ? new Set([...chosen].filter((c) => c !== id)) : new Set([...chosen, id]));
  return (
    <div className="table-wrap">
      <table className="grid stacked jobs">
        <thead><tr>
          <th className="tick"><input type="checkbox" aria-label="Choose all of this page that can be changed" checked={all} disabled={mine.length === 0} onChange={() => choose(new Set(all ? [] : mine))} /></th>
          <th>Job</th><th>State</th><th>Tasks</th><th>Queue</th><th>Owner</th><th className="num">Submitted</th><th className="num">Took</th>
        </tr></thead>
        <tbody>{jobs.map((job) => <JobRow key={job.id} job={job} now={now} can={mayTick(job, me)} ticked={chosen.has(job.id)} tick={() => toggle(job.id)} />)}</tbody>
      </table>
    </div>
  );
}

function JobRow({ job, now, can, ticked, tick }: { job: Job; now: number; can: boolean; ticked: boolean; tick: () => void }) {
  const total = sumGroups(job.groups);
  return (
    <tr data-ticked={ticked || undefined}>
      <td className="tick">{can && <input type="checkbox" aria-label={`Choose job ${job.id}`} checked={ticked} onChange={tick} />}</td>
      <td className="job-name">
        <div className="row"><Link href={`/jobs/${job.id}`} className="clip strong">{job.name}</Link><span className="muted small">#{job.id}</span></div>
        {job.waiting && !ended(job.state) ? <div className="muted small clip" title={job.waiting}>{job.waiting}</div> : job.tags.length > 0 && <div className="row">{job.tags.slice(0, 4).map((t) => <span key={t} className="tag clip">{t}</span>)}</div>}
      </td>
      <td><State state={job.state} /></td>
      <td className="job-tasks"><TasksBar group={total} /><div className="small muted">{progressText(job.kind, total)}{total.failed ? `, ${count(total.failed)} failed` : ""}</div></td>
      <td className="clip" data-label="Queue" title={job.queue}>{job.queue}</td>
      <td className="clip" data-label="Owner">{job.owner}</td>
      <td className="num" data-label="Submitted" title={moment(job.submitted_at)}>{ago(job.submitted_at, now)}</td>
      <td className="num" data-label="Took">{took(job, now)}</td>
    </tr>
  );
}

/** From its start, as hydractl has it: how long it waited is not part of it. */
function took(job: Job, now: number): string {
  if (job.started_at === null) return "–";
  const from = Date.parse(job.started_at);
  return job.finished_at ? duration(Date.parse(job.finished_at) - from) : coarse(now - from);
}
