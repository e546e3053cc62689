/** Why a job waits: per group the limits in the order they bind, its place, when it can start, and what would start it. */
import type { Group, Job, WaitLimit, WaitReason } from "../../api/types";
import { Link } from "wouter";
import { comparisons, linksOf, place, sentence, title, waitingLine } from "../../format/reason";
import { ended } from "../../format/states";
import { ago, count } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Clock } from "../../ui/icons";
import { Command } from "../../ui/parts";

interface Explanation {
  groups: { name: string; elsewhere: { sub_cluster: string; waiting: number; since: string; reason: WaitReason | null }[] }[];
}

export function Waiting({ job, now, reads }: { job: Job; now: number; reads: boolean }) {
  if (ended(job.state)) return null;
  const groups = byNeed(job.groups.filter((g) => g.reason && !ended(g.state)));
  if (groups.length === 0 && !job.waiting) return null;
  return (
    <section className="notice warn waiting" aria-labelledby="why-it-waits" data-testid="waiting">
      <Clock />
      <div className="grow">
        <h2 id="why-it-waits">Why it waits</h2>
        {groups.length === 0 && <p>{job.waiting}</p>}
        {groups.slice(0, 1).map((group) => <GroupWaiting key={group.no} group={group} reason={group.reason as WaitReason} now={now} reads={reads} />)}
        <Others groups={groups.slice(1)} now={now} reads={reads} />
        <Elsewhere job={job} now={now} />
        <Command text={`hydractl explain ${job.id}`} />
      </div>
    </section>
  );
}

/** Those that could start come first; last, those that only wait for others of the job. */
function byNeed(groups: Group[]): Group[] {
  const follows = (g: Group) => g.reason?.limits?.[0]?.limit === "dependencies";
  return [...groups.filter((g) => !follows(g)), ...groups.filter(follows)];
}

/** The further groups, each a line until it is opened: what has run already is not pushed off the screen. */
function Others({ groups, now, reads }: { groups: Group[]; now: number; reads: boolean }) {
  return groups.map((group) => (
    <details className="why" key={group.no}>
      <summary><b>{waitingLine(group)}</b> <span>{title(group.reason?.limits?.[0]?.limit ?? group.reason?.code ?? "")}</span></summary>
      <GroupWaiting group={group} reason={group.reason as WaitReason} now={now} reads={reads} titled />
    </details>
  ));
}

/** What of the job waits in other sub-clusters, asked for only while it spans some. */
function Elsewhere({ job, now }: { job: Job; now: number }) {
  const moved = job.groups.map((g) => `${g.pending}.${g.reason?.at ?? ""}`).join();
  const read = useRead<Explanation>(`/jobs/${job.id}/explain`, moved);
  const rows = read.data?.groups.flatMap((g) => g.elsewhere.map((e) => ({ ...e, group: g.name }))) ?? [];
  if (rows.length === 0) return null;
  return (
    <div className="why">
      <h3>Elsewhere</h3>
      <ul className="elsewhere">{rows.map((e) => (
        <li key={`${e.group}/${e.sub_cluster}`}>
          <Link href={`/fleet?sub=${encodeURIComponent(e.sub_cluster)}`}><b>{e.sub_cluster}</b></Link>: {count(e.waiting)} of {e.group} since {ago(e.since, now)}. {e.reason ? sentence(e.reason.text, e.reason.code) : "It has not answered yet."}
          {e.reason && <Facts reason={e.reason} now={now} />}
        </li>))}</ul>
    </div>
  );
}

function GroupWaiting({ group, reason, now, reads, titled = false }: { group: Group; reason: WaitReason; now: number; reads: boolean; titled?: boolean }) {
  const limits = reason.limits?.length ? reason.limits : [{ limit: reason.code, text: reason.text ?? "", asked: {}, available: {} }];
  return (
    <div className={titled ? undefined : "why"}>
      {!titled && <h3>{waitingLine(group)}</h3>}
      <ol className="limits">{limits.map((limit, i) => <Limit key={`${limit.limit}${i}`} limit={limit} code={reason.code} reads={reads} />)}</ol>
      <Facts reason={reason} now={now} />
    </div>
  );
}

function Facts({ reason, now }: { reason: WaitReason; now: number }) {
  const where = place(reason);
  return (
    <dl className="why-facts small">
      {where && <div><dt>Place</dt><dd>{where}</dd></div>}
      {reason.estimate?.text && <div><dt>Starts</dt><dd>{reason.estimate.text}</dd></div>}
      {reason.change?.text && <div><dt>{reason.change.starts ? "Would start it now" : "What helps"}</dt><dd>{reason.change.text}</dd></div>}
      {reason.at && <div><dt>As of</dt><dd>{ago(reason.at, now)}</dd></div>}
    </dl>
  );
}

function Limit({ limit, code, reads }: { limit: WaitLimit; code: string; reads: boolean }) {
  const links = linksOf(limit, reads);
  return (
    <li>
      <span className="limit-name">{title(limit.limit)}</span>
      <span>{sentence(limit.text || undefined, code)}</span>
      {links.map(({ href, text }) => <Link key={href} href={href} className="why-link">{text}</Link>)}
      {comparisons(limit).map(({ name, asked, there, part }) => (
        <span className="compare" key={name} role="img" aria-label={`${there} available, ${asked} asked`}>
          <svg preserveAspectRatio="none" aria-hidden="true"><rect width={`${100 * part}%`} height="100%" /></svg>
          <span className="small">{there} of {asked}</span>
        </span>
      ))}
    </li>
  );
}
