/** Where the job's tasks serve: a link to each port, and what its health check says. */
import type { Endpoint, Job, JobSnapshot } from "../../api/types";
import { ended } from "../../format/states";
import { moment } from "../../format/units";
import { Card, Command, Empty, State } from "../../ui/parts";

/** Whether a group of the job says that its tasks listen. */
export function declares(job: Job): boolean {
  const groups = (job.spec as { groups?: { ports?: unknown[] }[] } | undefined)?.groups ?? [];
  return groups.some((g) => (g.ports?.length ?? 0) > 0);
}

export function healthState(e: Pick<Endpoint, "healthy">): string {
  return e.healthy === null ? "UNCHECKED" : e.healthy ? "HEALTHY" : "FAILING";
}

/** Where the application's own page is, for who may open it. */
export function pageOf(job: Job, open: boolean): string | null {
  return open ? job.tracking ?? null : null;
}

export function Endpoints({ snapshot, open }: { snapshot: JobSnapshot; open: boolean }) {
  const { job } = snapshot;
  const rows = snapshot.endpoints?.results ?? [];
  const page = pageOf(job, open);
  if (rows.length === 0 && (ended(job.state) || !declares(job))) return null;
  return (
    <Card title="Serves at" flush aside={<Command text={`hydractl endpoints ${job.id}`} />}>
      {page && <p className="small tasks-foot"><a href={page} target="_blank" rel="noopener noreferrer"><b>The application's page</b> ↗</a></p>}
      {rows.length === 0 ? <Empty title="Nothing serves yet">Its ports appear here once its tasks run.</Empty> : (
        <div className="table-wrap endpoints"><table className="grid stacked labelled">
          <thead><tr><th>Port</th><th>Task</th><th>Health</th><th>Address</th><th>Node</th>{job.kind === "service" && <th className="num">Revision</th>}</tr></thead>
          <tbody>{rows.map((e) => (
            <tr key={`${e.container}/${e.name}`}>
              <td>{open ? <a href={e.proxy} target="_blank" rel="noopener noreferrer" aria-label={`Open ${e.name} of ${e.group} ${e.index}`}><b>{e.name}</b> ↗</a> : <b>{e.name}</b>}</td>
              <td data-label="Task">{e.group}/{e.index}</td>
              <td title={`As its node told at ${moment(e.checked_at)}`}><State state={healthState(e)} /></td>
              <td className="mono" data-label="Address">{e.host}:{e.port}</td><td data-label="Node">{e.node}</td>{job.kind === "service" && <td className="num" data-label="Revision">{e.revision}</td>}
            </tr>))}</tbody>
        </table></div>)}
      {snapshot.endpoints?.next && <p className="muted small tasks-foot">The first {rows.length}; <span className="mono">hydractl endpoints {job.id}</span> lists all.</p>}
    </Card>
  );
}
