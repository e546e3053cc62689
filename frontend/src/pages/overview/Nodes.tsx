/** Every node: tiles while there are few, one canvas cell each when there are many. */
import { SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Node as FullNode, NodeBrief as Node, SubCluster } from "../../api/types";
import { useMe } from "../../app/session";
import { coarse, cores, count, memory, moment, percent } from "../../format/units";
import { tone, word } from "../../format/states";
import { useRead } from "../../live/hooks";
import { Card, Empty, State } from "../../ui/parts";
import { ToneIcon } from "../../ui/icons";
import { ageText, fill, stale, standing, type Measure } from "./fleet";
import { Heatmap } from "./Heatmap";

const TILES_UP_TO = 48;
const NodeDuty = lazy(() => import("./NodeDuty"));

export function Nodes({ subClusters, nodes, complete }: { subClusters: SubCluster[]; nodes: Node[]; complete: boolean }) {
  const [measure, setMeasure] = useState<Measure>("memory");
  const [chosen, setChosen] = useState<number | null>(null);
  const bySub = useMemo(() => groupBySub(subClusters, nodes), [subClusters, nodes]);
  const node = nodes.find((n) => n.id === chosen);
  const anyGpu = nodes.some((n) => n.capacity.gpus > 0);
  const choices = [{ value: "memory", label: "Memory" }, { value: "cores", label: "Cores" }, ...(anyGpu ? [{ value: "gpus", label: "GPUs" }] : [])];
  const dense = nodes.length > TILES_UP_TO;
  return (
    <Card title="Nodes" flush aside={
      <>
        <Legend dense={dense} />
        {dense && <SegmentedControl size="xs" data={choices} value={measure} onChange={(v) => setMeasure(v as Measure)} aria-label="What the cells show" />}
      </>
    }>
      {nodes.length === 0 && <Empty title="No node has joined yet">Start a node manager with a join token; it appears here by itself.</Empty>}
      <div className={`body node-groups ${dense ? "" : "few"}`}>
        {bySub.map(([name, list]) => (
          <div key={name}>
            <h3>{name} <span className="muted small">{count(list.length)} nodes</span></h3>
            {dense
              ? <Heatmap name={name} nodes={list} measure={measure} chosen={chosen} onChoose={setChosen} />
              : <div className="tiles">{list.map((n) => <Tile key={n.id} node={n} chosen={n.id === chosen} onChoose={() => setChosen(n.id === chosen ? null : n.id)} />)}</div>}
          </div>
        ))}
      </div>
      {!complete && <p className="muted small node-detail">Only the first {count(nodes.length)} nodes are shown.</p>}
      {node && <NodeDetail node={node} />}
    </Card>
  );
}

function groupBySub(subClusters: SubCluster[], nodes: Node[]): [string, Node[]][] {
  const found = new Map<string, Node[]>(subClusters.map((sc) => [sc.name, []]));
  for (const node of nodes) found.get(node.sub_cluster)?.push(node);
  const order = (a: Node, b: Node) => a.rack.localeCompare(b.rack) || a.name.localeCompare(b.name, undefined, { numeric: true });
  return [...found].filter(([, list]) => list.length).map(([name, list]) => [name, list.sort(order)]);
}

function Legend({ dense }: { dense: boolean }) {
  return (
    <div className="legend">
      {dense
        ? <span className="ramp">free <i aria-hidden="true" /> full</span>
        : <><span><i className="swatch allocated" />allocated</span><span><i className="swatch used" />used</span></>}
      <span><i className="swatch old" />stale, with its age</span>
    </div>
  );
}

export function nodeText(node: Node): string {
  const age = node.last_seen_s === null ? "never seen" : `last seen ${coarse(node.last_seen_s * 1000)} ago`;
  return `${node.name}, ${word(standing(node))}${stale(node) ? `, stale, ${age}` : ""}: memory ${percent(node.allocated.memory_mib, node.capacity.memory_mib)}, ` +
    `cores ${percent(node.allocated.vcores_milli, node.capacity.vcores_milli)} allocated, ${node.containers} containers`;
}

function Tile({ node, chosen, onChoose }: { node: Node; chosen: boolean; onChoose: () => void }) {
  const old = stale(node);
  const shown = standing(node);
  return (
    <button type="button" className={`tile ${old ? "stale" : ""}`} aria-pressed={chosen} aria-label={nodeText(node)} title={nodeText(node)} onClick={onChoose}>
      <span className="top">
        {shown !== "UP" && <span className={`state tone-${tone(shown)}`}><ToneIcon tone={tone(shown)} size={13} /></span>}
        <b className="clip">{node.name}</b>
        <i>{node.containers || ""}</i>
      </span>
      <span className="pair">
        mem <Bar fill={fill(node, "memory")} used={node.used.memory_mib / Math.max(1, node.capacity.memory_mib)} />
        cpu <Bar fill={fill(node, "cores")} used={node.used.cpu_milli / Math.max(1, node.capacity.vcores_milli)} />
      </span>
      {old ? <span className="age">{ageText(node, coarse)}</span> : shown !== "UP" && <span className="age">{word(shown)}</span>}
    </button>
  );
}

function Bar({ fill: part, used }: { fill: number; used: number }) {
  return (
    <svg className="meter" width="100%" height="8" preserveAspectRatio="none" aria-hidden="true">
      <rect width={`${part * 100}%`} height="8" fill="var(--heat-1)" />
      <rect width={`${Math.min(1, used) * 100}%`} y="3" height="2" fill="var(--used)" />
    </svg>
  );
}

/** Why the node takes no new work, and until when. */
function Wish({ node }: { node: FullNode }) {
  const w = node.maintenance;
  const words = { cordoned: ["Cordoned", "no new containers come, what runs there runs on"], draining: ["Being drained", ""], decommissioned: ["Decommissioned", "it leaves for good once it is empty"] };
  const lines: string[] = [];
  if (node.duty !== "in_service") {
    const who = node.duty_by ? ` by ${node.duty_by}` : "";
    const [word, meaning] = node.drained ? ["Drained", "nothing is left there"] : words[node.duty];
    const until = node.deadline && !node.drained ? `what runs is stopped at ${moment(node.deadline)}` : "";
    const details = [meaning, until].filter(Boolean).join("; ");
    lines.push(`${word}${who}${details ? `: ${details}` : ""}.${node.message ? ` ${node.message}` : ""}`);
  }
  if (w) lines.push(`${w.active ? "Maintenance" : "Maintenance is planned from " + moment(w.starts_at)} until ${moment(w.ends_at)}.${w.message ? ` ${w.message}` : ""}`);
  if (node.health_text) lines.push(`Its health script says: ${node.health_text}`);
  return <>{lines.map((line) => <p key={line} className="small">{line}</p>)}</>;
}

function NodeDetail({ node }: { node: Node }) {
  const more = useRead<FullNode>(`/nodes/${node.id}`, [node.state, node.duty, node.drained, node.health.join(), node.maintenance?.id]).data;
  const operator = useMe().data?.role === "operator";
  return (
    <div className="node-detail" aria-live="polite">
      <div className="row wrap"><h3>{node.name}</h3><State state={standing(node)} />{node.health.map((h) => <span key={h} className="tag">{h.toLowerCase().replaceAll("_", " ")}</span>)}
        <span className="grow" />
        {operator && more && <Suspense><NodeDuty node={more} /></Suspense>}
      </div>
      {more && <Wish node={more} />}
      <dl className="facts small">
        <div><dt>Memory</dt><dd>{memory(node.allocated.memory_mib)} allocated, {memory(node.used.memory_mib)} used of {memory(node.capacity.memory_mib)}</dd></div>
        <div><dt>Cores</dt><dd>{cores(node.allocated.vcores_milli)} allocated, {cores(node.used.cpu_milli)} used of {cores(node.capacity.vcores_milli)}</dd></div>
        {node.capacity.gpus > 0 && <div><dt>GPUs</dt><dd>{node.allocated.gpus} of {node.capacity.gpus}</dd></div>}
        <div><dt>Containers</dt><dd>{node.containers}</dd></div>
        <div><dt>Rack</dt><dd>{node.rack}</dd></div>
        {more?.host && <div><dt>Host</dt><dd>{more.host}</dd></div>}
        <div><dt>Last seen</dt><dd>{node.last_seen_s === null ? "never" : `${coarse(node.last_seen_s * 1000)} ago`}</dd></div>
        {more && <div><dt>Enforces</dt><dd>{more.enforces.join(", ") || "nothing"}</dd></div>}
        {more && Object.keys(more.labels).length > 0 && <div><dt>Labels</dt><dd>{Object.entries(more.labels).map(([k, v]) => (v && v !== "true" ? `${k}=${v}` : k)).join(", ")}</dd></div>}
      </dl>
    </div>
  );
}
