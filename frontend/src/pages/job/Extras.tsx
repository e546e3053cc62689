/** Result files, events, and what was submitted. */
import { useMemo } from "react";
import { API } from "../../api/client";
import type { Job, JobEvent, Output } from "../../api/types";
import { ended } from "../../format/states";
import { bytes, clock, moment } from "../../format/units";
import { usePages } from "../../live/pages";
import { Download } from "../../ui/icons";
import { Listed } from "../../ui/listed";
import { Card, Command, Empty } from "../../ui/parts";

const SIZE = 200;

export function Files({ job, signature }: { job: Job; signature: string }) {
  const list = usePages<Output>(`/jobs/${job.id}/outputs?page_size=${SIZE}`, signature);
  // What a job is for comes from its last groups, so those stand first.
  const order = new Map(job.groups.map((g) => [g.name, g.no]));
  const sorted = (files: Output[]) => files.toSorted((a, b) => (order.get(b.group) ?? 0) - (order.get(a.group) ?? 0) || a.index - b.index);
  return (
    <Card title="Result files" flush aside={<Command text={`hydractl fetch ${job.id}`} />}>
      <Listed list={list} label="files" empty={<Empty title={ended(job.state) ? "It left no files" : "No files yet"}>A group's <span className="mono">outputs</span> appear here as its tasks succeed.</Empty>}>{(files) => (
        <div className="table-wrap"><table className="grid">
          <thead><tr><th>File</th><th>Task</th><th className="num">Size</th><th>SHA-256</th><th><span className="sr">Download</span></th></tr></thead>
          <tbody>{sorted(files).map((f) => (
            <tr key={`${f.group}/${f.index}/${f.name}`}>
              <td><b>{f.name}</b> <span className="muted small">{f.path}</span></td><td>{f.group}/{f.index}</td><td className="num">{bytes(f.size)}</td>
              <td className="mono muted" title={f.digest}>{f.digest.slice(0, 12)}</td>
              <td className="num"><a href={`${API}/artifacts/${f.digest}`} download={f.path.split("/").at(-1)} className="row" aria-label={`Download ${f.path} of ${f.group} ${f.index}`}><Download /> Download</a></td>
            </tr>))}</tbody>
        </table></div>)}</Listed>
    </Card>
  );
}

export function Events({ job, signature }: { job: Job; signature: string }) {
  const list = usePages<JobEvent>(`/jobs/${job.id}/events?order=newest&page_size=${SIZE}`, signature);
  return (
    <Card title="Events" flush aside={<Command text={`hydractl events ${job.id}`} />}>
      <Listed list={list} label="events" empty={<Empty title="Nothing out of the ordinary happened" />}>{(events) => (
        <div className="table-wrap"><table className="grid" aria-label="Events, newest first"><thead><tr><th>When</th><th>What</th><th>Details</th></tr></thead>
          <tbody>{events.map((e, i) => <tr key={`${e.at}${i}`}><td title={moment(e.at)}>{clock(e.at)}</td><td>{e.kind.replaceAll("_", " ")}</td><td className="wrap-any">{e.message}</td></tr>)}</tbody></table></div>)}</Listed>
    </Card>
  );
}

/** JSON is YAML too, so what is shown can be submitted as it stands. */
export function Spec({ job }: { job: Job }) {
  const text = useMemo(() => JSON.stringify(job.spec ?? {}, null, 2), [job.spec]);
  const now = job.kind === "service" ? "with defaults filled in, and as many tasks as by now" : "with defaults filled in";
  return <Card title="As submitted" aside={<span className="muted small">{now}</span>}><pre className="spec mono" tabIndex={0}>{text}</pre></Card>;
}
