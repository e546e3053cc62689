/** Result files, events, and what was submitted. */
import { useState } from "react";
import { API } from "../../api/client";
import type { Job, JobEvent, Output, Page } from "../../api/types";
import { bytes, clock, moment } from "../../format/units";
import { ended } from "../../format/states";
import { useRead } from "../../live/hooks";
import { Download } from "../../ui/icons";
import { Card, Command, Empty, Failed, Loading } from "../../ui/parts";

function rows<T>(data: Page<T> | T[] | undefined): T[] | undefined {
  return Array.isArray(data) ? data : data?.results;
}

export function Files({ job, signature }: { job: Job; signature: string }) {
  const read = useRead<Page<Output> | Output[]>(`/jobs/${job.id}/outputs`, signature);
  // What a job is for comes from its last groups, so those stand first.
  const order = new Map(job.groups.map((g) => [g.name, g.no]));
  const files = rows(read.data)?.toSorted((a, b) => (order.get(b.group) ?? 0) - (order.get(a.group) ?? 0) || a.index - b.index);
  return (
    <Card title="Result files" flush aside={<Command text={`hydractl fetch ${job.id}`} />}>
      {read.error ? <div className="body"><Failed error={read.error} retry={() => void read.refetch()} /></div> : !files ? <Loading label="Loading files" />
        : files.length === 0 ? <Empty title={ended(job.state) ? "It left no files" : "No files yet"}>A group's <span className="mono">outputs</span> appear here as its tasks succeed.</Empty>
        : (
          <div className="table-wrap"><table className="grid">
            <thead><tr><th>File</th><th>Task</th><th className="num">Size</th><th>SHA-256</th><th><span className="sr">Download</span></th></tr></thead>
            <tbody>{files.map((f) => (
              <tr key={`${f.group}/${f.index}/${f.name}`}>
                <td><b>{f.name}</b> <span className="muted small">{f.path}</span></td><td>{f.group}/{f.index}</td><td className="num">{bytes(f.size)}</td>
                <td className="mono muted" title={f.digest}>{f.digest.slice(0, 12)}</td>
                <td className="num"><a href={`${API}/artifacts/${f.digest}`} download={f.path.split("/").at(-1)} className="row" aria-label={`Download ${f.path} of ${f.group} ${f.index}`}><Download /> Download</a></td>
              </tr>))}</tbody>
          </table></div>)}
    </Card>
  );
}

export function Events({ job, signature }: { job: Job; signature: string }) {
  const read = useRead<Page<JobEvent> | JobEvent[]>(`/jobs/${job.id}/events`, signature);
  const events = rows(read.data);
  return (
    <Card title="Events" flush aside={<Command text={`hydractl events ${job.id}`} />}>
      {read.error ? <div className="body"><Failed error={read.error} retry={() => void read.refetch()} /></div> : !events ? <Loading label="Loading events" />
        : events.length === 0 ? <Empty title="Nothing out of the ordinary happened" />
        : <div className="table-wrap"><table className="grid"><thead><tr><th>When</th><th>What</th><th>Details</th></tr></thead>
          <tbody>{events.map((e, i) => <tr key={`${e.at}${i}`}><td title={moment(e.at)}>{clock(e.at)}</td><td>{e.kind.replaceAll("_", " ")}</td><td className="wrap-any">{e.message}</td></tr>)}</tbody></table></div>}
    </Card>
  );
}

/** JSON is YAML too, so what is shown can be submitted as it stands. */
export function Spec({ job }: { job: Job }) {
  const [text] = useState(() => JSON.stringify(job.spec ?? {}, null, 2));
  return <Card title="As submitted" aside={<span className="muted small">with defaults filled in</span>}><pre className="spec mono" tabIndex={0}>{text}</pre></Card>;
}
