/** Queues: who may hold how much, who holds it, where, and why. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useLocation, useSearch } from "wouter";
import { get } from "../../api/client";
import type { PageProps } from "../../app/pages";
import { RESOURCES } from "../../format/resources";
import { useLiveness, useTopic } from "../../live/hooks";
import { Card, Command, Failed, Loading, Notice, Stale, useNow } from "../../ui/parts";
import { Ledger } from "../usage/Ledger";
import { Drawer } from "./Drawer";
import { MatrixView } from "./MatrixView";
import { Legend } from "./QueueBar";
import { TreeView } from "./TreeView";
import { CHOICES, rowsOf, visible, type Scale, type Sort } from "./tree";
import type { QueueLayout, QueueUse } from "./types";
import { command, fromSearch, named, toSearch, type Tab, type View } from "./view";
import "../../styles/queues.css";

const STALE_AFTER_MS = 15_000;
const RESOURCE_NAMES = CHOICES.map((value, at) => ({ value, label: RESOURCES[at - 1]?.title ?? "Dominant" }));
const SORT_NAMES = [{ value: "tree", label: "As in the policy" }, { value: "used", label: "Most used first" }, { value: "waiting", label: "Most pending first" }, { value: "borrowed", label: "Most borrowed first" }, { value: "below", label: "Starved first" }];
const SCALE_NAMES = [{ value: "all", label: "Bars: of all" }, { value: "own", label: "Bars: of its own" }];

export default function QueuesPage({ me }: PageProps) {
  const view = fromSearch(useSearch());
  const [, go] = useLocation();
  const set = (more: Partial<View>) => {
    const next = toSearch({ ...view, ...more });
    go(`/queues${next ? `?${next}` : ""}`, { replace: more.tab === undefined && more.queue === undefined && more.under === undefined });
  };
  const tabs: [Tab, string][] = [["tree", me.role === "tenant" ? "My queues" : "Tree"], ["matrix", "Sub-clusters"], ["use", "My use"]];
  return (
    <>
      <div className="page-head row wrap">
        <h1 className="grow">Queues</h1>
        <div className="segments queue-views" role="group" aria-label="Views of the queues">
          {tabs.map(([tab, name]) => <button key={tab} type="button" aria-pressed={view.tab === tab} onClick={() => set({ tab })}>{name}</button>)}
        </div>
      </div>
      {view.tab === "use" ? <Ledger shown={{ days: view.days, owner: view.owner, queue: view.of, tag: view.tag }} choose={({ queue, ...next }) => set(queue === undefined ? next : { ...next, of: queue })} me={me} /> : <Live view={view} set={set} tenant={me.role === "tenant"} />}
      <Command text={command(view)} />
    </>
  );
}

function Live({ view, set, tenant }: { view: View; set: (more: Partial<View>) => void; tenant: boolean }) {
  const layout = useTopic<QueueLayout>("queues", (signal) => get<QueueLayout>("/queues/tree", signal));
  const query = view.place && view.tab === "tree" ? `?sub_cluster=${encodeURIComponent(view.place)}` : "";
  const use = useTopic<QueueUse>(`queueuse${query}`, (signal) => get<QueueUse>(`/queues/use${query}`, signal));
  const isLive = useLiveness().state === "live";
  const now = useNow();
  const rows = useMemo(() => (layout.data && use.data ? rowsOf(layout.data, use.data, view.resource) : null), [layout.data, use.data, view.resource]);
  const shown = useMemo(() => (rows ? visible(rows, { search: view.search, sort: view.sort, toggled: view.toggled }) : []), [rows, view.search, view.sort, [...view.toggled].join()]);
  const error = use.error ?? layout.error;
  const at = Math.min(layout.updatedAt, use.updatedAt);
  const toggle = (path: string) => {
    const toggled = new Set(view.toggled);
    if (!toggled.delete(path)) toggled.add(path);
    set({ toggled });
  };
  return (
    <>
      {rows && (error || (!isLive && now - at > STALE_AFTER_MS)) && <Stale since={at} now={now} why={error?.detail} />}
      {use.data && <Places use={use.data} />}
      {tenant && use.data?.others && <Others use={use.data} />}
      <Controls view={view} set={set} places={use.data?.places.map((p) => p.name) ?? []} />
      <div className="with-drawer" data-open={view.queue !== ""}>
        <Card flush label="Queues" title={view.tab === "tree" ? <Starved rows={rows} /> : undefined} aside={view.tab === "tree" ? <Legend /> : undefined}>
          {view.tab === "matrix" ? <MatrixView view={view} set={set} />
            : rows ? <TreeView rows={shown} all={rows.length} scale={view.scale} toggled={view.toggled} searching={view.search.trim() !== ""} chosen={view.queue} now={now} onToggle={toggle} onChoose={(queue) => set({ queue })} />
            : error ? <div className="body"><Failed error={error} /></div> : <Loading lines={8} label="Loading queues" />}
        </Card>
        {view.queue && <Drawer key={view.queue} path={view.queue} view={view} signature={Math.floor((use.data?.at ?? 0) / 2)} onClose={() => set({ queue: "" })} />}
      </div>
    </>
  );
}

function Starved({ rows }: { rows: ReturnType<typeof rowsOf> }) {
  const starving = rows?.filter((row) => row.starving && row.leaf).length ?? 0;
  if (!rows) return <>Queues</>;
  return <>{rows.length === 1 ? "1 queue" : `${rows.length.toLocaleString("en-US")} queues`}{starving > 0 && <span className="starved-count">, {starving} starved</span>}</>;
}

function Controls({ view, set, places }: { view: View; set: (more: Partial<View>) => void; places: string[] }) {
  return (
    <div className="filters" role="search" aria-label="Choose what is shown">
      {view.tab === "tree" && <TextInput aria-label="Find a queue" placeholder="Find a queue" value={view.search} onChange={(e) => set({ search: e.currentTarget.value })} />}
      <NativeSelect aria-label="Resource" data={RESOURCE_NAMES} value={view.resource} onChange={(e) => set({ resource: e.currentTarget.value })} />
      {view.tab === "tree" && <>
        <NativeSelect aria-label="Sub-cluster" value={view.place} onChange={(e) => set({ place: e.currentTarget.value })} data={[{ value: "", label: "All sub-clusters" }, ...places.map((name) => ({ value: name, label: name }))]} />
        <NativeSelect aria-label="Order" data={SORT_NAMES} value={view.sort} onChange={(e) => set({ sort: e.currentTarget.value as Sort })} />
        <NativeSelect aria-label="Bars" data={SCALE_NAMES} value={view.scale} onChange={(e) => set({ scale: e.currentTarget.value as Scale })} />
      </>}
    </div>
  );
}

/** Sub-clusters whose numbers do not count as usual, and what that means. */
function Places({ use }: { use: QueueUse }) {
  const silent = use.places.filter((p) => !p.counts).map((p) => p.name);
  const stale = use.places.filter((p) => p.counts && p.stale).map((p) => p.name);
  return (
    <>
      {silent.length > 0 && <Notice kind="warn"><strong>Nobody leads {named(silent)}.</strong> Of what is there, only what is in use is shared out until a resource manager takes over.</Notice>}
      {stale.length > 0 && use.shares?.policy !== "static" && <Notice kind="warn"><strong>Shares of {named(stale)} are old.</strong> The last ones stay in force, and nothing is preempted on their account.</Notice>}
    </>
  );
}

function Others({ use }: { use: QueueUse }) {
  const others = use.others;
  if (!others) return null;
  const parts = use.capacity.map((whole, axis) => (whole > 0 ? `${Math.round((100 * (others.used[axis] ?? 0)) / whole)} % of ${["memory", "cores", "GPUs"][axis]}` : "")).filter(Boolean);
  return <p className="muted small">Others use about {parts.join(", ")}, in steps of {Math.round(others.step * 100)} %.</p>;
}
