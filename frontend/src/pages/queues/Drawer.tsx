/** One queue beside the tree: limits, where its share is and why, who holds it, who may use it, and its line in the policy. */
import { useEffect, useRef, type ReactNode } from "react";
import { Link } from "wouter";
import type { Resources } from "../../api/types";
import { AXES, amounts } from "../../format/resources";
import { coarse, count, memory } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Command, Failed, Loading, Notice, useNow } from "../../ui/parts";
import { RULES } from "./MatrixView";
import { OverTime } from "./OverTime";
import { amount } from "./QueueBar";
import { CHOICES } from "./tree";
import type { QueueDetail } from "./types";
import type { View } from "./view";
import { hydractl } from "../../format/shell";

export function Drawer({ path, view, signature, onClose }: { path: string; view: View; signature: number; onClose: () => void }) {
  const p = new URLSearchParams();
  const axis = AXES[CHOICES.indexOf(view.resource) - 1];
  if (axis) p.set("resource", axis);
  if (view.partition) p.set("partition", view.partition);
  const query = p.toString();
  const found = useRead<QueueDetail>(`/queues/${encodeURIComponent(path)}/detail${query ? `?${query}` : ""}`, signature);
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus({ preventScroll: true }), []);
  const q = found.data;
  return (
    <aside className="card qdrawer" aria-label={`Queue ${path}`} onKeyDown={(e) => e.key === "Escape" && onClose()}>
      <header className="row"><h2 ref={head} tabIndex={-1} className="grow clip" title={path}>{path}</h2><button type="button" className="icon-button" aria-label="Close the details" title="Close (Esc)" onClick={onClose}>×</button></header>
      <div className="body qdetail">
        {!q ? found.error ? <Failed error={found.error} retry={() => void found.refetch()} /> : <Loading label="Loading the queue" /> : <Told q={q} />}
      </div>
    </aside>
  );
}

/** What one user may have of jobs that have not ended. */
function liveOf(q: QueueDetail): string {
  const parts = [
    q.max_live_jobs_per_user !== null && `${count(q.max_live_jobs_per_user)} jobs`,
    q.max_live_tasks_per_user !== null && `${count(q.max_live_tasks_per_user)} tasks`,
    q.max_live_mib_per_user !== null && `${memory(q.max_live_mib_per_user)} of specifications`,
  ].filter(Boolean);
  return parts.join(", ") || "no limit";
}

function Told({ q }: { q: QueueDetail }) {
  const now = useNow();
  return (
    <>
      {q.starving && <Notice kind="warn"><strong>Starved for {coarse(now - q.starving.since * 1000)}.</strong> {q.starving.text}</Notice>}
      {q.sees === "own" && <p className="muted small">This queue is open to everybody: what is counted here are your own jobs.</p>}
      <dl className="facts">
        <Fact name={q.sees === "own" ? "You use" : "Uses"}>{amounts(q.used)}</Fact>
        <Fact name={q.sees === "own" ? "Your pending" : "Pending"}>{amounts(q.pending)}</Fact>
        <Fact name="Guaranteed">{amounts(q.guaranteed)}</Fact>
        <Fact name="Maximum">{amounts(q.maximum)}</Fact>
        <Fact name="Jobs"><Link href={`/jobs?state=live&queue=${encodeURIComponent(q.path)}`}>{count(q.live_jobs)} live</Link>, {count(q.running_jobs)} running</Fact>
        <Fact name="State">{q.stopped ? (q.live_jobs ? "draining" : "stopped") : "takes jobs"}</Fact>
      </dl>
      <div className="row wrap">
        {q.pointer !== null && <Link className="linkish" href={`/policy/edit?at=${encodeURIComponent(q.pointer)}`}>Its line in the policy</Link>}
      </div>
      {q.sees === "whole" && <OverTime path={q.path} />}
      {q.own.length > 0 && <section><h3>Why you get what you get</h3><ul className="own-why small">{q.own.map((sentence) => <li key={sentence}>{sentence}</li>)}</ul></section>}
      {q.places.length > 0 && <section><h3>Where its share is, and why</h3><ul className="whys">{q.places.map((p) => <Place key={p.sub_cluster} p={p} axis={AXES.indexOf(q.resource as keyof Resources)} />)}</ul></section>}
      <section><h3>Limits</h3>
        <dl className="facts">
          <Fact name="One user may hold">{amounts(q.user_limit)}</Fact>
          <Fact name="Running jobs">{q.max_running_jobs ?? "no limit"}</Fact>
          <Fact name="Of one user">{q.max_running_jobs_per_user ?? "no limit"}</Fact>
          <Fact name="Not ended, of one user">{liveOf(q)}</Fact>
          <Fact name="Order">{q.ordering}</Fact>
          <Fact name="Priorities">up to {q.max_priority}, usually {q.default_priority}</Fact>
          {q.weight !== null && <Fact name="Weight">{Number(q.weight.toPrecision(3))}{q.siblings_weight ? ` of ${Number(q.siblings_weight.toPrecision(3))}` : ""}</Fact>}
          <Fact name="Gives way">{q.preemptable ? "when others are owed" : "never: not preemptable"}</Fact>
        </dl>
      </section>
      {q.users.length > 0 && <section><h3>Whose jobs hold it</h3><table className="grid small"><thead><tr><th>User</th><th className="num">Jobs</th><th className="num">Memory</th><th className="num">Cores</th></tr></thead>
        <tbody>{q.users.map((u) => <tr key={u.user}><td className="clip"><Link href={`/jobs?state=live&owner=${encodeURIComponent(u.user)}`}>{u.user}</Link></td><td className="num">{count(u.jobs)}</td><td className="num">{memory(u.used.memory_mib)}</td><td className="num">{amount(1, u.used.vcores_milli)}</td></tr>)}</tbody></table></section>}
      {q.rights && <section><h3>Who may use it</h3><ul className="rights">{q.open_to_all && <li>every tenant may submit</li>}{q.rights.map((r) => <li key={`${r.who}${r.level}${r.queue}${r.source}`}><b>{r.who}</b> {r.level === "admin" ? "may administer" : "may submit"} <span className="muted small">by {r.source === "policy" ? "the policy" : "a grant"} on {r.queue}</span></li>)}{!q.open_to_all && q.rights.length === 0 && <li className="muted">nobody but operators</li>}</ul></section>}
      <Command text={hydractl("queues", "--why", q.path)} />
    </>
  );
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => <div><dt>{name}</dt><dd>{children}</dd></div>;

function Place({ p, axis }: { p: QueueDetail["places"][number]; axis: number }) {
  const of = (r: Resources) => r[AXES[axis]!] ?? 0;
  return (
    <li>
      <div className="row"><b className="grow">{p.sub_cluster}</b><span className="num">{amount(axis, of(p.share))}</span><span className={`rule rule-${p.rule}`}>{RULES[p.rule]?.word}</span></div>
      <p className="small">{p.why}</p>
      <p className="small muted">By size it would be guaranteed {amount(axis, p.by_size)}, by demand {amount(axis, p.by_demand)}.{p.shares_age_s !== null && ` Worked out ${coarse(p.shares_age_s * 1000)} ago${p.stale ? ": too old to preempt for" : ""}.`}</p>
    </li>
  );
}
