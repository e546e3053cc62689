/** The fleet: a map or a table of every node, by sub-cluster and rack; below it maintenance. A node and the comparison have pages of their own. */
import { SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useRef } from "react";
import { useLocation, useSearch } from "wouter";
import { get } from "../../api/client";
import type { Me, Overview } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import type { PageProps } from "../../app/pages";
import { count } from "../../format/units";
import { useLiveness, useTopic } from "../../live/hooks";
import "../../styles/fleet.css";
import { Card, Command, Empty, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { Tabs } from "../../ui/tabs";
import { useWidth } from "../../ui/width";
import { command, fromSearch, narrowed, toSearch, type View } from "./filter";
import { FilterBar } from "./FilterBar";
import { pitchFor } from "./layout";
import { Legend } from "./Legend";
import { Maintenance } from "./Maintenance";
import { useOrders } from "./orders";
import { FILLS, MEASURES, type Fill, type Measure } from "./look";
import { useFleet } from "./store";
import { SubClusterNodes } from "./SubClusterNodes";

const ComparePage = lazy(() => import("./ComparePage"));
const NodePage = lazy(() => import("./NodePage"));
const NodeTable = lazy(() => import("./NodeTable"));
const STALE_AFTER_MS = 15_000;
const TILES_UP_TO = 48;
const MANY = 6; // sub-clusters, from which on their cards are set closer together
const MAP_HEIGHT = 820; // pixels that a whole fleet's cells may take, as far as they can be made small enough

export default function FleetPage({ me, rest }: PageProps) {
  const node = /^nodes\/([1-9]\d{0,15})$/.exec(rest);
  if (node) return <Suspense fallback={<Loading />}><NodePage key={node[1]} id={Number(node[1])} me={me} /></Suspense>;
  if (rest && rest !== "compare") return <Empty title="There is no such page">Nodes have their pages at /fleet/nodes/ and their number.</Empty>;
  return rest ? <Compared me={me} /> : <WholeFleet me={me} />;
}

const TABS = [{ to: "/fleet", name: "Nodes" }, { to: "/fleet/compare", name: "Compare sub-clusters" }];

/** For those who may see what all queues do; others have the nodes alone. */
function Parts({ me, here }: { me: Me; here: string }) {
  const [, go] = useLocation();
  usePaletteCommands(me.role === "tenant" ? [] : [{ name: "Fleet: compare sub-clusters", words: "a/b experiment side by side", run: () => go("/fleet/compare") }]);
  return me.role === "tenant" ? null : <Tabs tabs={TABS} here={here} label="Parts of the fleet" />;
}

function Compared({ me }: { me: Me }) {
  return (
    <>
      <div className="page-head"><h1>Fleet</h1></div>
      <Parts me={me} here="/fleet/compare" />
      <Suspense fallback={<Loading lines={12} />}><ComparePage me={me} /></Suspense>
    </>
  );
}

function WholeFleet({ me }: { me: Me }) {
  const view = fromSearch(useSearch());
  const [, go] = useLocation();
  const set = (more: Partial<View>) => {
    const next = { ...view, ...more };
    if (next.of === "gpus" && next.fill === "used") next.fill = "allocated";
    go(`/fleet${toSearch(next)}`, { replace: true });
  };
  const { fleet, error, updatedAt } = useFleet();
  const overview = useTopic<Overview>("overview", (signal) => get<Overview>("/overview", signal)).data;
  const subs = overview?.sub_clusters.filter((sc) => sc.state !== "decommissioned") ?? [];
  const orders = useOrders(fleet, view);
  const shown = orders.reduce((n, order) => n + order.length, 0);
  const few = shown <= TILES_UP_TO;
  const tiles = few && view.view === "auto";
  return (
    <>
      <div className="page-head row wrap">
        <h1 className="grow">Fleet</h1>
        <Command text={command(view)} />
        <SegmentedControl size="xs" aria-label="How nodes are shown" value={view.view === "map" && !few ? "auto" : view.view} onChange={(v) => set({ view: v as View["view"] })}
          data={[...(few ? [{ value: "auto", label: "Tiles" }, { value: "map", label: "Map" }] : [{ value: "auto", label: "Map" }]), { value: "table", label: "Table" }]} />
      </div>
      <Parts me={me} here="/fleet" />
      {fleet && <OldLine error={error?.detail ?? null} at={updatedAt} />}
      <FilterBar view={view} fleet={fleet} set={set} />
      {!fleet && (error ? <Failed error={error} /> : <Card><Loading lines={8} label="Loading the fleet" /></Card>)}
      {fleet && (
        <>
          <div className="row wrap fleet-controls">
            <p className="grow" role="status">{narrowed(view) ? <><b>{count(shown)}</b> of {count(fleet.nodes)} nodes</> : <><b>{count(fleet.nodes)}</b> {fleet.nodes === 1 ? "node" : "nodes"}</>}{fleet.own && <span className="muted">, with what your own containers hold</span>}</p>
            {view.view !== "table" && !tiles && <Controls view={view} set={set} own={fleet.own} gpus={fleet.parts.some((p) => p.kinds.some((k) => k.capacity.gpus > 0))} />}
          </div>
          {fleet.nodes === 0 ? <Card><Empty title="No node has joined yet">Start a node manager with a join token; it appears here by itself.</Empty></Card>
            : shown === 0 ? <Card><Empty title="No node matches these filters">They are in the address; clear them to see every node.</Empty></Card>
            : view.view === "table" ? <Suspense fallback={<Loading lines={8} />}><NodeTable fleet={fleet} orders={orders} sort={view.sort} onSort={(sort) => set({ sort })} /></Suspense>
            : <Maps fleet={fleet} orders={orders} shown={shown} tiles={tiles} view={view} subs={subs} />}
        </>
      )}
      {subs.length > 0 && <Maintenance subClusters={subs} />}
    </>
  );
}

function OldLine({ error, at }: { error: string | null; at: number }) {
  const away = useLiveness().state !== "live";
  const now = useNow();
  if (error === null && (!away || now - at < STALE_AFTER_MS)) return null;
  return <Stale since={at} now={now} why={error || undefined} />;
}

function Controls({ view, set, own, gpus }: { view: View; set: (more: Partial<View>) => void; own: boolean; gpus: boolean }) {
  const words = { memory: "Memory", cores: "Cores", gpus: "GPUs", allocated: "Allocated", used: "Used", reserved: "Reserved" };
  return (
    <>
      <Legend view={view} />
      <SegmentedControl size="xs" aria-label="What fills a cell" value={view.fill} onChange={(v) => set({ fill: v as Fill })}
        data={FILLS.filter((f) => f !== "used" || (view.of !== "gpus" && !own)).map((value) => ({ value, label: words[value] }))} />
      <SegmentedControl size="xs" aria-label="Of which resource" value={view.of} onChange={(v) => set({ of: v as Measure })}
        data={MEASURES.filter((m) => m !== "gpus" || gpus || view.of === "gpus").map((value) => ({ value, label: words[value] }))} />
    </>
  );
}

function Maps({ fleet, orders, shown, tiles, view, subs }: { fleet: NonNullable<ReturnType<typeof useFleet>["fleet"]>; orders: Uint32Array[]; shown: number; tiles: boolean; view: View; subs: Overview["sub_clusters"] }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const pitch = pitchFor(shown, Math.max(320, width) * MAP_HEIGHT);
  return (
    <div ref={box} className={`fleet-grid ${tiles ? "few" : orders.filter((order) => order.length).length > MANY ? "many" : ""}`}>
      {width > 0 && fleet.parts.map((part, at) => {
        const order = orders[at]!;
        if (order.length === 0 && (narrowed(view) || part.names.length > 0)) return null;
        return <SubClusterNodes key={part.name} fleet={fleet} part={part} order={order} pitch={pitch} view={view} tiles={tiles} sc={subs.find((sc) => sc.name === part.name)} />;
      })}
    </div>
  );
}
