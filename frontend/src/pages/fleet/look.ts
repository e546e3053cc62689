/** What a cell says: how full a node is, of what, how old that is, in numbers and in words. */
import { coarse, cores, memory } from "../../format/units";
import { word } from "../../format/states";
import { rackOf, type Fleet, type Part } from "./model";

export const FILLS = ["allocated", "used", "reserved"] as const;
export const MEASURES = ["memory", "cores", "gpus"] as const;
export type Fill = (typeof FILLS)[number];
export type Measure = (typeof MEASURES)[number];

/** What is free there and kept from new work by an operator. */
export const CLOSED = new Set(["CORDONED", "DRAINING", "DRAINED", "LEAVING", "MAINTENANCE"]);
export const NEVER = 1;
const AXIS = { memory: "memory_mib", cores: "vcores_milli", gpus: "gpus" } as const;

/** Parts of `whole` that are filled, or -1: the node has none of it, or nobody measures it. */
export function filled(fleet: Fleet, part: Part, row: number, fill: Fill, measure: Measure): number {
  const capacity = part.kinds[part.kind[row]!]?.capacity;
  if (!capacity || capacity[AXIS[measure]] <= 0) return -1;
  const c = part.columns;
  if (fill === "used") return measure === "gpus" ? -1 : (measure === "memory" ? c.used_memory : c.used_cores)[row]!;
  const allocated = c[measure][row]!;
  if (fill === "allocated") return allocated;
  return c.held[row] || CLOSED.has(standingOf(fleet, part, row)) ? fleet.whole - allocated : 0;
}

export function standingOf(fleet: Fleet, part: Part, row: number): string {
  return fleet.standings[part.columns.standing[row]!] ?? "UP";
}

export function staleAt(fleet: Fleet, part: Part, row: number): boolean {
  return part.columns.silent[row]! > 0 || standingOf(fleet, part, row) === "LOST";
}

/** `silent for 12 s`, or nothing while it reports. */
export function ageText(fleet: Fleet, part: Part, row: number, nowMs: number): string {
  if (!staleAt(fleet, part, row)) return "";
  const since = part.columns.silent[row]!;
  if (since > NEVER) return `silent for ${coarse(nowMs - since * 1000)}`;
  return standingOf(fleet, part, row) === "REGISTERED" ? "not seen yet" : "age unknown";
}

/** A share as people read it; nothing is rounded up. */
export function share(fleet: Fleet, parts: number): string {
  if (parts < 0) return "–";
  const percent = (100 * parts) / fleet.whole;
  return percent > 0 && percent < 1 ? "<1 %" : `${Math.floor(percent)} %`;
}

/** A node in one line: what is spoken, and shown beside its cell. */
export function nodeText(fleet: Fleet, part: Part, row: number, nowMs: number): string {
  const c = part.columns;
  const capacity = part.kinds[part.kind[row]!]?.capacity;
  const standing = standingOf(fleet, part, row);
  const age = ageText(fleet, part, row, nowMs);
  const gpus = capacity && capacity.gpus > 0 ? `, GPUs ${share(fleet, c.gpus[row]!)}` : "";
  const amounts = capacity ? ` (${memory(capacity.memory_mib)}, ${cores(capacity.vcores_milli)} cores)` : "";
  const held = c.held[row] ? "; what is free is reserved" : "";
  return `${part.names[row]}, ${word(standing)}${age ? `, stale, ${age}` : ""}, rack ${rackOf(part, row)?.name ?? "unknown"}${amounts}: ` +
    (fleet.own ? `yours are memory ${share(fleet, c.memory[row]!)}, cores ${share(fleet, c.cores[row]!)}${gpus},`
      : `memory ${share(fleet, c.memory[row]!)} allocated and ${share(fleet, c.used_memory[row]!)} used, cores ${share(fleet, c.cores[row]!)} allocated and ${share(fleet, c.used_cores[row]!)} used${gpus},`) +
    ` ${c.containers[row]} ${c.containers[row] === 1 ? "container" : "containers"}${held}`;
}
