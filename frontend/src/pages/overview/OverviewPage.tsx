/** The cluster at a glance: sub-clusters and their liveness first, then every node, then the queues. */
import { get } from "../../api/client";
import type { NodesSnapshot, Overview, Page, NodeBrief } from "../../api/types";
import { cores, count, memory, percent } from "../../format/units";
import { useLiveness, useTopic } from "../../live/hooks";
import { Card, Empty, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { aged } from "./fleet";
import { Nodes } from "./Nodes";
import { Maintenance } from "./Maintenance";
import { Queues } from "./Queues";
import { SubClusterCard } from "./SubClusterCard";

const STALE_AFTER_MS = 15_000;

async function readNodes(signal: AbortSignal): Promise<NodesSnapshot> {
  const page = await get<Page<NodeBrief>>("/nodes?page_size=1000", signal);
  return { results: page.results, complete: page.next === null };
}

export function OverviewPage() {
  const view = useTopic<Overview>("overview", (signal) => get<Overview>("/overview", signal));
  const map = useTopic<NodesSnapshot>("nodes", readNodes);
  const isLive = useLiveness().state === "live";
  const now = useNow();
  if (view.loading) return <><h1>Overview</h1><Card><Loading label="Loading the overview" /></Card></>;
  if (!view.data) return <><h1>Overview</h1>{view.error && <Failed error={view.error} />}</>;
  const { sub_clusters, queues, capacity } = view.data;
  const old = view.error !== null || (!isLive && now - view.updatedAt > STALE_AFTER_MS);
  return (
    <>
      <h1>Overview</h1>
      {old && <Stale since={view.updatedAt} now={now} why={view.error?.detail} />}
      {sub_clusters.length === 0 ? (
        <Card><Empty title="No sub-cluster yet">An operator makes one and joins nodes to it with a join token.</Empty></Card>
      ) : (
        <>
          <Totals data={view.data} />
          <div className="sc-grid">{sub_clusters.map((sc) => <SubClusterCard key={sc.id} sc={sc} />)}</div>
          {map.data ? <Nodes subClusters={sub_clusters} nodes={aged(map.data.results, sub_clusters)} complete={map.data.complete} />
            : <Card title="Nodes">{map.error ? <Failed error={map.error} /> : <Loading label="Loading nodes" />}</Card>}
          <Maintenance subClusters={sub_clusters} />
          <Queues queues={queues} capacity={capacity} />
        </>
      )}
    </>
  );
}

function Totals({ data }: { data: Overview }) {
  const s = data;
  const known = Object.entries(s.nodes).reduce((n, [state, c]) => (state === "decommissioned" ? n : n + c), 0);
  const jobs = Object.values(s.jobs).reduce((a, b) => a + b, 0);
  return (
    <dl className="totals" aria-label="All sub-clusters together">
      <div><dt>Memory allocated</dt><dd>{percent(s.allocated.memory_mib, s.capacity.memory_mib)} <small>of {memory(s.capacity.memory_mib)}</small></dd></div>
      <div><dt>Cores allocated</dt><dd>{percent(s.allocated.vcores_milli, s.capacity.vcores_milli)} <small>of {cores(s.capacity.vcores_milli)}</small></dd></div>
      {s.capacity.gpus > 0 && <div><dt>GPUs allocated</dt><dd>{s.allocated.gpus} <small>of {s.capacity.gpus}</small></dd></div>}
      <div><dt>Jobs live</dt><dd>{count(jobs)}</dd></div>
      <div><dt>Containers live</dt><dd>{count(s.live_containers)}</dd></div>
      <div><dt>Containers waiting</dt><dd>{count(s.pending.containers)}</dd></div>
      <div><dt>Nodes up</dt><dd>{count(s.nodes.up ?? 0)} <small>of {count(known)}</small></dd></div>
    </dl>
  );
}
