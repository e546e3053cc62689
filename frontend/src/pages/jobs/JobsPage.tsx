/** Jobs, newest first. The first page is live; older ones are read a page at a time from the server. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { call, get } from "../../api/client";
import type { ApiError } from "../../api/client";
import type { Job, Me, Page } from "../../api/types";
import { ago, coarse, count, duration, moment } from "../../format/units";
import { ended, JOB_STATES, word } from "../../format/states";
import { useTopic } from "../../live/hooks";
import { sumGroups, TasksBar } from "../../ui/bars";
import { Card, Command, Empty, Failed, Loading, Stale, State, useNow } from "../../ui/parts";
import { command, fromSearch, toQuery, topic, type FilterName, type Filters } from "./filters";
import { useQuery } from "@tanstack/react-query";

export function JobsPage({ me }: { me: Me }) {
  const filters = fromSearch(useSearch());
  const [, go] = useLocation();
  const [cursors, setCursors] = useState<string[]>([]);
  const key = topic(filters);
  useEffect(() => setCursors([]), [key]);
  const query = toQuery(filters);
  const first = useTopic<Page<Job>>(key, (signal) => get<Page<Job>>(`/jobs${query ? `?${query}` : ""}`, signal));
  const cursor = cursors.at(-1);
  const older = useQuery<Page<Job>, ApiError>({
    queryKey: ["jobs-page", cursor], enabled: cursor !== undefined, retry: 1, queryFn: ({ signal }) => call<Page<Job>>(cursor ?? "", { signal }),
  });
  const set = (name: FilterName, value: string) => {
    const next = toQuery({ ...filters, [name]: value });
    go(`/jobs${next ? `?${next}` : ""}`, { replace: true });
  };
  const page = cursor === undefined ? first.data : older.data;
  const error = cursor === undefined ? first.error : older.error;
  const next = page?.next;
  return (
    <>
      <div className="page-head row">
        <h1 className="grow">Jobs</h1>
        {me.role !== "viewer" && <Button renderRoot={(props) => <Link href="/submit" {...props} />}>Submit a job</Button>}
      </div>
      <FilterBar key={query === "" ? "none" : "some"} filters={filters} set={set} clear={() => go("/jobs")} />
      {error && page && <StaleLine at={first.updatedAt} why={error.detail} />}
      <Card flush label="Jobs">
        {page ? <JobTable jobs={page.results} filtered={query !== ""} /> : error ? <div className="body"><Failed error={error} /></div> : <Loading lines={6} label="Loading jobs" />}
      </Card>
      <div className="row wrap">
        <Command text={command(filters)} />
        <span className="grow" />
        {cursor !== undefined && <span className="muted small">Older jobs are shown as they were when read</span>}
        <Button variant="default" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>Newer</Button>
        <Button variant="default" disabled={!next} onClick={() => next && setCursors([...cursors, next])}>Older</Button>
      </div>
    </>
  );
}

function StaleLine({ at, why }: { at: number; why: string }) {
  return <Stale since={at} now={useNow()} why={why || undefined} />;
}

function FilterBar({ filters, set, clear }: { filters: Filters; set: (name: FilterName, value: string) => void; clear: () => void }) {
  return (
    <div className="filters" role="search" aria-label="Filter jobs">
      <NativeSelect aria-label="State" value={filters.state ?? ""} onChange={(e) => set("state", e.currentTarget.value)}
        data={[{ value: "", label: "Any state" }, { value: "live", label: "Not ended" }, { value: "ended", label: "Ended" }, ...JOB_STATES.map((s) => ({ value: s, label: word(s) }))]} />
      <NativeSelect aria-label="Kind" value={filters.kind ?? ""} onChange={(e) => set("kind", e.currentTarget.value)}
        data={[{ value: "", label: "Any kind" }, { value: "batch", label: "Batch" }, { value: "service", label: "Service" }]} />
      {(["name", "queue", "owner", "tag"] as const).map((name) => <TextFilter key={name} name={name} value={filters[name] ?? ""} set={set} />)}
      {Object.keys(filters).length > 0 && <Button variant="subtle" onClick={clear}>Clear</Button>}
    </div>
  );
}

function TextFilter({ name, value, set }: { name: FilterName; value: string; set: (name: FilterName, value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    if (text === value) return;
    const id = setTimeout(() => set(name, text), 350);
    return () => clearTimeout(id);
  }, [text]); // eslint-disable-line -- what was typed starts the wait, nothing else
  const label = name.charAt(0).toUpperCase() + name.slice(1);
  return <TextInput aria-label={label} placeholder={label} value={text} onChange={(e) => setText(e.currentTarget.value)} />;
}

function JobTable({ jobs, filtered }: { jobs: Job[]; filtered: boolean }) {
  const now = useNow();
  if (jobs.length === 0) {
    return filtered ? <Empty title="No job matches these filters" /> : <Empty title="No jobs yet">Submit one here, or with <span className="mono">hydractl submit job.yaml</span>.</Empty>;
  }
  return (
    <div className="table-wrap">
      <table className="grid jobs">
        <thead><tr><th>Job</th><th>State</th><th>Tasks</th><th>Queue</th><th>Owner</th><th className="num">Submitted</th><th className="num">Took</th></tr></thead>
        <tbody>{jobs.map((job) => <JobRow key={job.id} job={job} now={now} />)}</tbody>
      </table>
    </div>
  );
}

function JobRow({ job, now }: { job: Job; now: number }) {
  const total = sumGroups(job.groups);
  return (
    <tr>
      <td className="job-name">
        <div className="row"><Link href={`/jobs/${job.id}`} className="clip strong">{job.name}</Link><span className="muted small">#{job.id}</span></div>
        {job.waiting && !ended(job.state) ? <div className="muted small clip" title={job.waiting}>{job.waiting}</div> : job.tags.length > 0 && <div className="row">{job.tags.slice(0, 4).map((t) => <span key={t} className="tag clip">{t}</span>)}</div>}
      </td>
      <td><State state={job.state} /></td>
      <td className="job-tasks"><TasksBar group={total} /><div className="small muted">{count(total.succeeded)} of {count(total.count)}{total.failed ? `, ${count(total.failed)} failed` : ""}</div></td>
      <td className="clip" data-label="Queue">{job.queue}</td>
      <td className="clip" data-label="Owner">{job.owner}</td>
      <td className="num" data-label="Submitted" title={moment(job.submitted_at)}>{ago(job.submitted_at, now)}</td>
      <td className="num" data-label="Took">{took(job, now)}</td>
    </tr>
  );
}

function took(job: Job, now: number): string {
  const from = Date.parse(job.submitted_at);
  return job.finished_at ? duration(Date.parse(job.finished_at) - from) : coarse(now - from);
}
