/** The cluster at a glance: sub-clusters and their liveness first, then the queues. */
import { get } from "../../api/client";
import type { Overview } from "../../api/types";
import { there } from "../../format/resources";
import { count, percent } from "../../format/units";
import { useLiveness, useTopic } from "../../live/hooks";
import { Card, Command, Empty, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { Queues } from "./Queues";
import { SubClusterCard } from "./SubClusterCard";

const STALE_AFTER_MS = 15_000;

export function OverviewPage() {
  const view = useTopic<Overview>("overview", (signal) => get<Overview>("/overview", signal));
  const isLive = useLiveness().state === "live";
  const now = useNow();
  if (view.loading) return <><h1>Overview</h1><Card><Loading label="Loading the overview" /></Card></>;
  if (!view.data) return <><h1>Overview</h1>{view.error && <Failed error={view.error} />}</>;
  const { queues, capacity } = view.data;
  const own = view.data.scope === "own";
  const sub_clusters = view.data.sub_clusters.filter((sc) => sc.state !== "decommissioned");
  const old = view.error !== null || (!isLive && now - view.updatedAt > STALE_AFTER_MS);
  return (
    <>
      <div className="page-head row wrap"><h1 className="grow">Overview</h1><Command text="hydractl overview" /></div>
      {old && <Stale since={view.updatedAt} now={now} why={view.error?.detail} />}
      {sub_clusters.length === 0 ? (
        <Card><Empty title="No sub-cluster yet">An operator makes one and joins nodes to it with a join token.</Empty></Card>
      ) : (
        <>
          <Totals data={view.data} />
          <div className="sc-grid">{sub_clusters.map((sc) => <SubClusterCard key={sc.id} sc={sc} own={own} />)}</div>
          <Queues queues={queues} leftOut={view.data.queues_left_out} capacity={capacity} />
        </>
      )}
    </>
  );
}

function Totals({ data }: { data: Overview }) {
  const s = data;
  const own = s.scope === "own"; // a tenant reads its own part of every sum
  const held = own ? "you hold" : "allocated";
  const known = Object.entries(s.nodes).reduce((n, [state, c]) => (state === "decommissioned" ? n : n + c), 0);
  const jobs = Object.values(s.jobs).reduce((a, b) => a + b, 0);
  return (
    <dl className="totals" aria-label={own ? "Your part of all sub-clusters together" : "All sub-clusters together"}>
      {there(s.capacity).map(({ axis, title, number, optional }) => (
        <div key={axis}><dt>{title} {held}</dt><dd>{optional ? number(s.allocated[axis]) : percent(s.allocated[axis], s.capacity[axis])} <small>of {number(s.capacity[axis])}</small></dd></div>
      ))}
      <div><dt>Jobs live</dt><dd>{count(jobs)}</dd></div>
      <div><dt>{own ? "Your containers" : "Containers live"}</dt><dd>{count(s.live_containers)}</dd></div>
      <div><dt>{own ? "Yours waiting" : "Containers waiting"}</dt><dd>{count(s.pending.containers)}</dd></div>
      <div><dt>Nodes in service</dt><dd>{count(s.duties?.open ?? s.nodes.up ?? 0)} <small>of {count(known)}{s.duties?.closed ? `, ${count(s.duties.closed)} closed` : ""}</small></dd></div>
    </dl>
  );
}
