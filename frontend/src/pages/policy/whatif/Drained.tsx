/** What a drain changes: the answer in words, queues and live jobs that wait longer, and what could start nowhere else. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { count, duration } from "../../../format/units";
import { Notice } from "../../../ui/parts";
import { number, value } from "../model/figures";
import { Wide } from "../../../ui/wide";
import type { SimulatedDrain } from "../types";

const seconds = (s: number | null): string => (s === null ? "–" : duration(1000 * s));
/** Means over seeds need not be whole. */
const mean = (amount: number | null): string => number(amount ?? 0, true);
const many = (amount: number | null, one: string): string => `${mean(amount)} ${one}${amount === 1 ? "" : "s"}`;

export function Drained({ found: d }: { found: SimulatedDrain }) {
  const waits = (d.containers.value ?? 0) > 0 || (d.longer_containers.value ?? 0) > 0;
  return (
    <section aria-label="What the drain changes">
      <h3 className="policy-sub">What the drain changes</h3>
      <dl className="facts whatif-facts">
        <Fact title="Wait, and would not otherwise">{many(d.containers.value, "container")} of {many(d.jobs.value, "job")}</Fact>
        <Fact title="Wait longer than otherwise">{many(d.longer_containers.value, "container")} of {many(d.longer_jobs.value, "job")}</Fact>
        {waits && <Fact title="Longer by, on average">{seconds(d.wait_mean_s.value)}</Fact>}
        <Fact title={`${d.sub_cluster} is empty`}>{d.empty_s.value === null ? `not within ${seconds(d.seen_s ?? d.horizon_s)}: ${many(d.left, "container")} left` : `after ${seconds(d.empty_s.value)}`}</Fact>
        {d.deadline_s !== null && d.deadline_s !== undefined && <Fact title={`Lost by what is stopped after ${seconds(d.deadline_s)}`}>{value(d.lost_core_hours?.value ?? null, "core hours")}</Fact>}
        <Fact title="Runs there now">{many(d.running, "container")}{d.services > 0 && <>, {count(d.services)} of services</>}</Fact>
      </dl>
      {!waits && <p><b>Nothing waits for more than {seconds(d.waits_s)} longer than it would otherwise.</b></p>}
      <Table title="Queues that wait longer" more={d.total_queues - d.queues.length} heads={["Queue", "Jobs", "Containers", "Longer by"]}
        rows={d.queues.map((q) => ({ key: q.queue, cells: [q.queue, mean(q.jobs), mean(q.containers), seconds(q.wait_s)] }))} />
      <Table title="Live jobs that wait longer" more={d.total_live - d.live.length} heads={["Job", "Containers", "Longer by", "Owner", "Queue"]}
        rows={d.live.map((j) => ({ key: `${j.job}`, cells: [<JobLink key="job" id={j.job} name={j.name} />, mean(j.containers), `${seconds(j.wait_s)}${j.open ? " or more" : ""}`, j.owner, j.queue] }))} />
      {(d.total_never > 0 || d.never_forecast > 0) && (
        <Notice kind="warn">{many(d.total_never, "task group")} of {many(d.never_jobs, "live job")} could start nowhere else{d.never_forecast > 0 ? `, and neither could ${count(d.never_forecast)} of the jobs that are taken to come` : ""}.</Notice>
      )}
      <Table title="What could start nowhere else" more={d.total_never - d.never.length} heads={["Job", "Group", "Containers", "Because", "Owner"]}
        rows={d.never.map((g) => ({ key: `${g.job}/${g.group}`, cells: [<JobLink key="job" id={g.job} name={g.name} />, g.group, count(g.containers), g.why, g.owner] }))} />
    </section>
  );
}

function Fact({ title, children }: { title: string; children: ReactNode }) {
  return <div><dt>{title}</dt><dd>{children}</dd></div>;
}

function JobLink({ id, name }: { id: number; name: string }) {
  return <Link href={`/jobs/${id}`}>#{id} {name}</Link>;
}

const NUMBERS = new Set(["Jobs", "Containers", "Longer by"]);

function Table({ title, heads, rows, more }: { title: string; heads: string[]; rows: { key: string; cells: ReactNode[] }[]; more: number }) {
  if (!rows.length) return null;
  const kind = (at: number) => (NUMBERS.has(heads[at] ?? "") ? "num" : "wrap-any");
  return (
    <>
      <h3 className="policy-sub">{title}</h3>
      <Wide>
        <table className="grid" aria-label={title}>
          <thead><tr>{heads.map((head, at) => <th key={head} className={kind(at) === "num" ? "num" : undefined}>{head}</th>)}</tr></thead>
          <tbody>{rows.map((row) => <tr key={row.key}>{row.cells.map((cell, at) => <td key={heads[at]} className={kind(at)}>{cell}</td>)}</tr>)}</tbody>
        </table>
      </Wide>
      {more > 0 && <p className="muted small whatif-all">{count(more)} more.</p>}
    </>
  );
}
