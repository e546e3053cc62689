/** What became of a schedule's times: the jobs that were started, and why nothing was. */
import { Link } from "wouter";
import { many, moment } from "../../format/units";
import { usePages } from "../../live/pages";
import { ToneIcon } from "../../ui/icons";
import { Listed } from "../../ui/listed";
import { Card, Command, Empty, State } from "../../ui/parts";
import { Wide } from "../../ui/wide";
import { hydractl } from "../../format/shell";
import type { ScheduleDetail, ScheduleRun } from "./types";
import { inZone, outcome } from "./words";

const SIZE = 50;

/** The state of the job that was started, or why there is none. */
export function Became({ run }: { run: ScheduleRun }) {
  if (run.job) return <Link href={`/jobs/${run.job.id}`} aria-label={`Job ${run.job.id}: ${run.job.state.toLowerCase()}`}><State state={run.job.state} /></Link>;
  const { word, tone } = outcome(run);
  return <span className={`state tone-${tone}`} data-outcome={run.outcome}><ToneIcon tone={tone} /><span>{word}</span></span>;
}

/** `signature`: read again when it changes. */
export function Runs({ schedule, signature }: { schedule: ScheduleDetail; signature: string }) {
  const list = usePages<ScheduleRun>(`/schedules/${schedule.id}/runs?page_size=${SIZE}`, signature);
  return (
    <Card title="What became of its times" flush aside={<Command text={hydractl("schedule", "history", schedule.id)} />}>
      <Listed list={list} label="times" empty={<Empty title="It has started nothing yet" />}>{(runs) => (
        <Wide>
          <table className="grid stacked labelled runs" aria-label="Times, the last one first">
            <thead><tr><th>Time</th><th>Outcome</th><th>Job</th><th>Details</th></tr></thead>
            <tbody>{runs.map((run) => <Row key={run.id} run={run} zone={schedule.zone} />)}</tbody>
          </table>
        </Wide>
      )}</Listed>
    </Card>
  );
}

function Row({ run, zone }: { run: ScheduleRun; zone: string }) {
  const details = run.message || (run.times > 1 ? many(run.times, "time") : "");
  return (
    <tr>
      <td className="nowrap" title={moment(run.at)}>{inZone(run.at, zone)}{run.by !== null && <div className="muted small">by {run.by}</div>}</td>
      <td data-label="Outcome"><Became run={run} /></td>
      <td data-label="Job">{run.job ? <Link href={`/jobs/${run.job.id}`}>#{run.job.id}</Link> : run.outcome === "started" ? <span className="muted">its history has ended</span> : "–"}</td>
      <td data-label={details ? "Details" : undefined} className="wrap-any">{details}</td>
    </tr>
  );
}
