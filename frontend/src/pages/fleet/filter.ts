/** Which nodes are wanted, and how they are shown: all of it is in the address. */
import { CLOSED, FILLS, MEASURES, staleAt, standingOf, type Fill, type Measure } from "./look";
import type { Fleet, Part } from "./model";
import { hydractl } from "../../format/shell";

export interface View {
  /** Part of a node's name. */
  q: string;
  sub: string;
  rack: string;
  /** `key`, `key=value`. */
  label: string;
  /** A standing, `stale` or `closed`; empty: any. */
  state: string;
  fill: Fill;
  of: Measure;
  /** `auto`: tiles of a few nodes, a map of many. */
  view: "auto" | "map" | "table";
  sort: string;
}

export const PLAIN: View = { q: "", sub: "", rack: "", label: "", state: "", fill: "allocated", of: "memory", view: "auto", sort: "" };

export function fromSearch(search: string): View {
  const p = new URLSearchParams(search);
  const text = (name: string) => p.get(name)?.slice(0, 255) ?? "";
  const one = <T extends string>(name: string, known: readonly T[]): T => known.find((word) => word === p.get(name)) ?? known[0]!;
  return {
    q: text("q"), sub: text("sub"), rack: text("rack"), label: text("label"), state: text("state"), sort: text("sort"),
    fill: one("fill", FILLS), of: one("of", MEASURES), view: one("view", ["auto", "map", "table"] as const),
  };
}

/** The address's query; what is as always is left out. */
export function toSearch(view: View): string {
  const p = new URLSearchParams();
  for (const key of Object.keys(PLAIN) as (keyof View)[]) if (view[key] !== PLAIN[key]) p.set(key, view[key]);
  const text = p.toString();
  return text ? `?${text}` : "";
}

/** The same nodes from a shell. */
export function command(view: View): string {
  const filters = { "sub-cluster": view.sub, contains: view.q.trim(), rack: view.rack.trim(), label: view.label.trim(), state: view.state };
  return hydractl("nodes", ...Object.entries(filters).flatMap(([name, value]) => (value ? [`--${name}`, value] : [])));
}

export function narrowed(view: View): boolean {
  return Boolean(view.q || view.sub || view.rack || view.label || view.state);
}

/** A filter over states changes with every step; the others only when nodes become others. */
export function moves(view: View): boolean {
  return view.state !== "";
}

/** Rows of a sub-cluster that are wanted, in order. */
export function matching(fleet: Fleet, part: Part, view: View): Uint32Array {
  const n = part.names.length;
  const found = new Uint32Array(n);
  if (view.sub && part.name !== view.sub) return found.subarray(0, 0);
  const kinds = view.label ? part.kinds.map((kind) => hasLabel(kind.labels, view.label)) : null;
  const q = view.q.trim().toLowerCase();
  const rack = view.rack.trim().toLowerCase();
  let k = 0;
  for (const r of part.racks) {
    if (rack && r.name.toLowerCase() !== rack) continue;
    for (let row = r.from; row < r.from + r.count; row += 1) {
      if (q && !part.names[row]!.toLowerCase().includes(q)) continue;
      if (kinds && !kinds[part.kind[row]!]) continue;
      if (view.state && !inState(fleet, part, row, view.state)) continue;
      found[k] = row;
      k += 1;
    }
  }
  return found.subarray(0, k);
}

function hasLabel(labels: Record<string, string>, wanted: string): boolean {
  const at = wanted.indexOf("=");
  const key = (at < 0 ? wanted : wanted.slice(0, at)).trim();
  if (!Object.hasOwn(labels, key)) return false;
  return at < 0 || labels[key] === wanted.slice(at + 1).trim();
}

function inState(fleet: Fleet, part: Part, row: number, state: string): boolean {
  if (state === "stale") return staleAt(fleet, part, row);
  const standing = standingOf(fleet, part, row);
  return state === "closed" ? CLOSED.has(standing) : standing === state;
}

/** Labels and racks there are, for suggestions; at most so many. */
export function known(fleet: Fleet, most = 200): { labels: string[]; racks: string[] } {
  const labels = new Set<string>();
  const racks = new Set<string>();
  for (const part of fleet.parts) {
    for (const kind of part.kinds) for (const [key, value] of Object.entries(kind.labels)) if (labels.size < most) labels.add(value && value !== "true" ? `${key}=${value}` : key);
    for (const rack of part.racks) if (racks.size < most) racks.add(rack.name);
  }
  return { labels: [...labels].sort(), racks: [...racks].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })) };
}
