/** One sub-cluster on the fleet's page: how it is in a line, then its nodes. */
import { useMemo } from "react";
import { Link, useLocation } from "wouter";
import type { SubCluster } from "../../api/types";
import { coarse, count, duration, short } from "../../format/units";
import { tone, word } from "../../format/states";
import { ToneIcon } from "../../ui/icons";
import { useNow } from "../../ui/parts";
import { useCompared } from "../overview/compared";
import { health } from "../overview/fleet";
import { narrowed } from "./filter";
import { FleetMap, type Shown } from "./FleetMap";
import { ageText, filled, NEVER, nodeText, staleAt, standingOf } from "./look";
import type { Fleet, Part } from "./model";

export function SubClusterNodes({ fleet, part, order, pitch, view, tiles, sc }: Shown & { tiles: boolean; sc: SubCluster | undefined }) {
  const [, go] = useLocation();
  return (
    <section className="card fleet-sc" aria-label={`Nodes of ${part.name}`} data-testid={`fleet-${part.name}`}>
      <header>
        <h2 className="clip">{part.name}</h2>
        {sc && <Health sc={sc} />}
        <Counts fleet={fleet} part={part} order={order} narrowed={narrowed(view)} />
        <span className="grow" />
        {sc && <Line sc={sc} />}
      </header>
      <div className="body">
        {part.names.length === 0 ? <p className="muted small">No node has joined.</p>
          : tiles ? <div className="tiles">{Array.from(order, (row) => <Tile key={part.ids[row]} fleet={fleet} part={part} row={row} />)}</div>
          : <FleetMap fleet={fleet} part={part} order={order} pitch={pitch} view={view} onChoose={(id) => go(`/fleet/nodes/${id}`)} />}
      </div>
    </section>
  );
}

function Health({ sc }: { sc: SubCluster }) {
  const state = health(sc);
  return <span className={`state tone-${state.tone}`} title={state.detail}><ToneIcon tone={state.tone} /><span>{state.word}</span></span>;
}

/** How many nodes, and how many of them are silent for how long at most. */
function Counts({ fleet, part, order, narrowed: some }: { fleet: Fleet; part: Part; order: Uint32Array; narrowed: boolean }) {
  const { stale, first } = useMemo(() => {
    let [n, since] = [0, Infinity];
    for (const row of order) {
      if (!staleAt(fleet, part, row)) continue;
      n += 1;
      const at = part.columns.silent[row]!;
      if (at > NEVER) since = Math.min(since, at);
    }
    return { stale: n, first: since };
  }, [fleet, part, order]);
  const nodes = some ? `${count(order.length)} of ${count(part.names.length)} nodes` : `${count(order.length)} ${order.length === 1 ? "node" : "nodes"}`;
  return <span className="small muted">{nodes}{stale > 0 && <>, <b className="warn">{count(stale)} stale<Age fleet={fleet} first={first} /></b></>}</span>;
}

function Age({ fleet, first }: { fleet: Fleet; first: number }) {
  const now = useNow() + fleet.skewMs;
  return first === Infinity ? null : <> for up to {coarse(now - first * 1000)}</>;
}

/** What its RM does, in a few numbers. */
function Line({ sc }: { sc: SubCluster }) {
  const compared = useCompared(sc.name);
  const facts: [string, string][] = [];
  if (sc.placed_per_s != null) facts.push(["decisions", `${short(sc.placed_per_s + (sc.ended_per_s ?? 0))} /s`]);
  if (compared?.allocation_latency_p50_s != null) facts.push(["to start", duration(compared.allocation_latency_p50_s * 1000)]);
  if (sc.policy_version != null) facts.push(["policy", `v${sc.policy_version}`]);
  facts.push(["epoch", String(sc.epoch)]);
  return <span className="small fleet-line" title={sc.leader ? `Led by ${sc.leader}` : "Nobody leads"}>{facts.map(([name, value]) => <span key={name}><span className="muted">{name}</span> {value}</span>)}</span>;
}

function Tile({ fleet, part, row }: { fleet: Fleet; part: Part; row: number }) {
  const now = useNow() + fleet.skewMs;
  const old = staleAt(fleet, part, row);
  const shown = standingOf(fleet, part, row);
  const text = nodeText(fleet, part, row, now);
  const c = part.columns;
  const gpus = filled(fleet, part, row, "allocated", "gpus");
  const part1 = (n: number) => n / fleet.whole;
  return (
    <Link href={`/fleet/nodes/${part.ids[row]}`} className={`tile ${old ? "stale" : ""}`} aria-label={text} title={text}>
      <span className="top">
        {shown !== "UP" && <span className={`state tone-${tone(shown)}`}><ToneIcon tone={tone(shown)} size={13} /></span>}
        <b className="clip">{part.names[row]}</b>
        <i>{c.containers[row] || ""}</i>
      </span>
      <span className="pair">
        mem <Bar fill={part1(c.memory[row]!)} used={part1(c.used_memory[row]!)} />
        cpu <Bar fill={part1(c.cores[row]!)} used={part1(c.used_cores[row]!)} />
        {gpus >= 0 && <>gpu <Bar fill={part1(gpus)} /></>}
      </span>
      {old ? <span className="age">{ageText(fleet, part, row, now)}</span> : shown !== "UP" && <span className="age">{word(shown)}</span>}
    </Link>
  );
}

function Bar({ fill, used }: { fill: number; used?: number }) {
  return (
    <svg className="meter" width="100%" height="8" preserveAspectRatio="none" aria-hidden="true">
      <rect width={`${fill * 100}%`} height="8" fill="var(--heat-1)" />
      {used !== undefined && <rect width={`${Math.min(1, used) * 100}%`} y="3" height="2" fill="var(--used)" />}
    </svg>
  );
}
