/** One job: what it is doing, why it waits, how it went, and its tasks, logs, files and events. */
import { SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useEffect } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { ApiError, get } from "../../api/client";
import type { Endpoint, Job, JobReceiver, JobSnapshot, Me, Page, Task } from "../../api/types";
import { ago, coarse, duration, moment } from "../../format/units";
import { tone } from "../../format/states";
import { useFollowed, useLiveness, useTopic } from "../../live/hooks";
import { ToneIcon } from "../../ui/icons";
import { Card, Failed, Loading, Notice, Stale, State, useNow } from "../../ui/parts";
import { toldOf } from "../account/receivers";
import { Actions } from "./Actions";
import { Endpoints } from "./Endpoints";
import { Events, Files, Spec } from "./Extras";
import { GroupGraph } from "./GroupGraph";
import { Revisions } from "./Revisions";
import { mayAct } from "./rights";
import { rolloutText } from "./rollout";
import { Story } from "./Story";
import { Tasks } from "./Tasks";
import { TimelineChart } from "./TimelineChart";
import { usePlaces } from "./usePlaces";
import { Waiting } from "./Waiting";

const Gantt = lazy(() => import("./Gantt"));
const Usage = lazy(() => import("./Usage"));

async function readSnapshot(id: string, signal: AbortSignal): Promise<JobSnapshot> {
  const [job, tasks, endpoints] = await Promise.all([
    get<Job>(`/jobs/${id}`, signal),
    get<Page<Task>>(`/jobs/${id}/tasks?page_size=200`, signal),
    get<Page<Endpoint>>(`/jobs/${id}/endpoints?page_size=50`, signal),
  ]);
  return { job, tasks, endpoints };
}

const TABS = ["Tasks", "Attempts", "Usage", "Files", "Events", "Revisions", "Spec"] as const;

/** Only services change what they run. */
function tabsOf(job: Job) {
  return TABS.filter((tab) => tab !== "Revisions" || job.kind === "service");
}

export function JobPage({ id, me }: { id: string; me: Me }) {
  const valid = /^\d{1,18}$/.test(id);
  const view = useTopic<JobSnapshot>(`job:${id}`, (signal) => readSnapshot(id, signal), valid);
  const isLive = useLiveness().state === "live";
  const now = useNow();
  const name = view.data?.job.name;
  useEffect(() => {
    if (name) document.title = `${name} · Hydra`;
  }, [name]);
  if (!valid) return <Failed error={new ApiError(404, "There is no such job", `${id} is not a job number.`)} />;
  if (view.loading) return <Card><Loading lines={6} label="Loading the job" /></Card>;
  if (!view.data) return view.error && <Failed error={missing(view.error, id)} />;
  const { job } = view.data;
  const old = view.error !== null || (!isLive && now - view.updatedAt > 15_000);
  return (
    <>
      <Head job={job} me={me} now={now} />
      {old && <Stale since={view.updatedAt} now={now} why={view.error?.detail} />}
      {job.message && <Notice kind={job.state === "FAILED" ? "bad" : undefined} icon={<span className={`tone-${tone(job.state)}`}><span className="state"><ToneIcon tone={tone(job.state)} /></span></span>}>{job.message}</Notice>}
      <Waiting job={job} now={now} reads={me.role !== "tenant"} />
      <Endpoints snapshot={view.data} open={mayAct(job, me)} />
      <div className="job-top">
        <Told job={job} now={now} />
        <GroupGraph kind={job.kind} groups={job.groups} />
      </div>
      <Tabs snapshot={view.data} me={me} />
    </>
  );
}

function Told({ job, now }: { job: Job; now: number }) {
  const read = usePlaces(job);
  const places = read.data?.results ?? [];
  return (
    <Card title="Timeline">
      <TimelineChart job={job} places={places} now={now} />
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.data && !read.data.complete && <p className="muted small">Sub-clusters of its first containers; <span className="mono">hydractl containers {job.id} -n 0</span> lists all.</p>}
      <Story job={job} places={places} signature={signatureOf(job)} />
    </Card>
  );
}

function missing(error: ApiError, id: string): ApiError {
  if (error.status !== 404) return error;
  return new ApiError(404, "There is no such job", `Job ${id} does not exist, or you may not see it.`);
}

function Head({ job, me, now }: { job: Job; me: Me; now: number }) {
  return (
    <header className="job-head">
      <nav className="small muted" aria-label="Breadcrumb"><Link href="/jobs">Jobs</Link> / #{job.id}</nav>
      <div className="row wrap">
        <h1 className="job-title">{job.name}</h1>
        <State state={job.state} />
        <span className="grow" />
        <Actions job={job} me={me} />
      </div>
      <dl className="facts small">
        <div><dt>Owner</dt><dd>{job.owner}</dd></div>
        <div><dt>Queue</dt><dd><Link href={`/jobs?queue=${encodeURIComponent(job.queue)}`}>{job.queue}</Link></dd></div>
        <div><dt>Home</dt><dd>{job.home}</dd></div>
        <div><dt>Priority</dt><dd>{job.priority}</dd></div>
        <div><dt>Kind</dt><dd>{job.kind}</dd></div>
        {job.kind === "service" && <div><dt>Revision</dt><dd data-testid="revision">{rolloutText(job)}</dd></div>}
        {me.username === job.owner && <Tells job={job} now={now} />}
        {job.retry_of !== null && <div><dt>Repeats</dt><dd><Link href={`/jobs/${job.retry_of}`}>#{job.retry_of}</Link></dd></div>}
        {job.schedule && <div><dt>Schedule</dt><dd title={`For ${moment(job.schedule.at)}`}><Link href={`/schedules/${job.schedule.id}`}>{job.schedule.name}</Link></dd></div>}
        <div><dt>Submitted</dt><dd title={moment(job.submitted_at)}>{ago(job.submitted_at, now)}</dd></div>
        {job.finished_at
          ? <div><dt>Took</dt><dd title="From its start">{job.started_at ? duration(Date.parse(job.finished_at) - Date.parse(job.started_at)) : "–"}</dd></div>
          : <div><dt>Age</dt><dd>{coarse(now - Date.parse(job.submitted_at))}</dd></div>}
        {job.tags.length > 0 && <div><dt>Tags</dt><dd className="row">{job.tags.map((t) => <span className="tag clip" key={t}>{t}</span>)}</dd></div>}
      </dl>
    </header>
  );
}

/** Who is told of it, and whether that arrived; for its owner. */
function Tells({ job, now }: { job: Job; now: number }) {
  const view = useFollowed<Page<JobReceiver>>(`/jobs/${job.id}/receivers`, job.state);
  const receivers = view.data?.results ?? [];
  if (receivers.length === 0) return null;
  return <div><dt>Tells</dt><dd>{receivers.map((r) => <div key={r.receiver}><Link href="/account">{r.receiver}</Link> {toldOf(r, now)}</div>)}</dd></div>;
}

/** Read again when anything that could add a file or an event has moved. */
function signatureOf(job: Job): string {
  return `${job.state}:${job.queue}:${job.home}:${job.revision}.${job.rollout?.updated}:${job.groups.map((g) => `${g.count}.${g.restarting}.${g.succeeded}.${g.failed}.${g.killed}.${g.retried}`).join()}`;
}

function Tabs({ snapshot, me }: { snapshot: JobSnapshot; me: Me }) {
  const search = useSearch();
  const [path, go] = useLocation();
  const wanted = new URLSearchParams(search).get("tab");
  const { job } = snapshot;
  const tab = tabsOf(job).find((t) => t.toLowerCase() === wanted) ?? "Tasks";
  const signature = signatureOf(job);
  return (
    <>
      <div className="tabs">
        <SegmentedControl size="xs" data={tabsOf(job)} value={tab} aria-label="Parts of the job" onChange={(t) => go(`${path}?tab=${t.toLowerCase()}`, { replace: true })} />
      </div>
      {tab === "Tasks" && <Tasks snapshot={snapshot} enter={mayAct(job, me)} />}
      {tab === "Attempts" && <Suspense fallback={<Loading />}><Gantt job={job} /></Suspense>}
      {tab === "Usage" && <Suspense fallback={<Loading />}><Usage job={job} /></Suspense>}
      {tab === "Files" && <Files job={job} signature={signature} />}
      {tab === "Events" && <Events job={job} signature={signature} />}
      {tab === "Revisions" && <Revisions job={job} />}
      {tab === "Spec" && <Spec job={job} />}
    </>
  );
}
