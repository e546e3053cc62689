/** What a service ran and runs: since when, by whom, what that changed and what became of it; and to which it goes back. */
import type { Job, Page, Revision } from "../../api/types";
import { moment } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Card, Command, Failed, Loading } from "../../ui/parts";
import { became, before } from "./rollout";

export function Revisions({ job }: { job: Job }) {
  const read = useRead<Page<Revision>>(`/jobs/${job.id}/revisions`, job.revision);
  return (
    <Card title="Revisions" flush aside={<Command text={`hydractl revisions ${job.id}`} />}>
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {!read.data && !read.error && <Loading label="Loading the revisions" />}
      {read.data && <div className="table-wrap"><table className="grid stacked labelled" aria-label="Revisions, the newest first">
        <thead><tr><th>Revision</th><th>Since</th><th>By</th><th>What it changed</th><th>What became of it</th></tr></thead>
        <tbody>{read.data.results.map((r) => (
          <tr key={r.revision}>
            <td><b>{r.revision}</b></td><td data-label="Since">{moment(r.at)}</td><td data-label="By">{r.by}</td>
            <td data-label="What it changed" className="wrap-any">{r.back !== null && <>Back to what {r.back} ran</>}<Changes of={r} /></td>
            <td data-label="What became of it" className="wrap-any">{became(r, job)}</td>
          </tr>))}</tbody>
      </table></div>}
    </Card>
  );
}

/** `to`: null for the last that did not fail and ran something else. */
export function BackTo({ job, to, choose }: { job: Job; to: number | null; choose: (to: number | null) => void }) {
  const read = useRead<Page<Revision>>(`/jobs/${job.id}/revisions`, job.revision);
  if (read.error && !read.data) return <Failed error={read.error} retry={() => void read.refetch()} />;
  if (!read.data) return <Loading label="Loading the revisions" />;
  const inForce = read.data.results.find(({ revision }) => revision === job.revision);
  return (
    <fieldset className="choices revisions">
      <legend>Back to</legend>
      {inForce && inForce.changes?.length ? <div className="small muted">In force is revision {inForce.revision}, which changed<Changes of={inForce} /></div> : null}
      <label><input type="radio" name="revision" checked={to === null} onChange={() => choose(null)} /><span>{job.rollout ? `What it ran before, revision ${job.rollout.previous}` : "The last one that did not fail and ran something else"}</span></label>
      {before(read.data.results, job).map((r) => (
        <label key={r.revision}>
          <input type="radio" name="revision" checked={to === r.revision} onChange={() => choose(r.revision)} />
          <span>Revision {r.revision}{r.back !== null && `, the same as ${r.back}`}<span className="small muted">{moment(r.at)} by {r.by}{r.outcome && `; ${r.outcome}`}{r.changes?.length ? "; it changed" : ""}</span><Changes of={r} /></span>
        </label>
      ))}
    </fieldset>
  );
}

function Changes({ of }: { of: Revision }) {
  return <>{of.changes?.map((each) => <span key={each} className="small revision-change">{each}</span>)}</>;
}
