/** The queue tree as rows: its layout and how it stands, put together. Pure; thousands of queues are ordinary. */
import { RESOURCES } from "../../format/resources";
import type { QueueLayout, QueueUse } from "./types";

export const LEAF = 1, STOPPED = 2, OPEN = 4, MAY_SUBMIT = 8, FIXED = 16, MAY_ADMINISTER = 32;
export const SEE_PATH = 1, SEE_OWN = 2, SEE_WHOLE = 3;
/** What an address calls them; the first is whatever a queue wants most of. */
export const CHOICES: readonly string[] = ["dominant", ...RESOURCES.map((r) => r.word.toLowerCase())];

const ALIKE = 0.99; // guarantees are rounded to whole units

/** Amounts are of `axis`, in its units; parts of them are of `whole`. */
export interface QueueRow {
  at: number;
  path: string;
  name: string;
  depth: number;
  parent: number;
  leaf: boolean;
  see: number;
  flags: number;
  axis: number;
  whole: number;
  guaranteed: number;
  maximum: number;
  used: number;
  pending: number;
  share: number;
  borrowed: number;
  lent: number;
  live: number;
  running: number;
  starving: QueueUse["starving"][number] | null;
  children: number[];
}

/** Every queue of the layout; null while the two are of different policies. */
export function rowsOf(layout: QueueLayout, use: QueueUse, resource: string): QueueRow[] | null {
  if (layout.layout !== use.layout || use.queues === null) return null;
  const q = layout.queues;
  const place = new Map(use.queues.at.map((at, i) => [at, i]));
  const hungry = new Map(use.starving.map((s) => [s.at, s]));
  const rows: QueueRow[] = [];
  q.name.forEach((name, at) => {
    const parent = q.parent[at] ?? -1;
    const up = rows[parent];
    const i = place.get(at);
    const of = (columns: number[][], axis: number) => (i === undefined ? 0 : columns[axis]?.[i] ?? 0);
    const limit = (columns: number[][], axis: number) => columns[axis]?.[at] ?? 0;
    const axis = resource === "dominant" ? dominant(use, (k) => of(use.queues.used, k) + of(use.queues.pending, k), (k) => limit(q.guaranteed, k), up?.axis ?? 0) : CHOICES.indexOf(resource) - 1;
    const here = use.sub_cluster !== null;
    const share = of(use.queues.share, axis);
    rows.push({
      at, name, parent, axis, share,
      path: up ? `${up.path}.${name}` : name,
      depth: up ? up.depth + 1 : 0,
      flags: q.flags[at] ?? 0,
      leaf: ((q.flags[at] ?? 0) & LEAF) !== 0,
      see: q.see[at] ?? SEE_PATH,
      whole: use.capacity[axis] ?? 0,
      guaranteed: here ? of(use.queues.guaranteed_part, axis) : limit(q.guaranteed, axis),
      maximum: here ? Math.min(limit(q.maximum, axis), use.capacity[axis] ?? 0) : limit(q.maximum, axis),
      used: of(use.queues.used, axis),
      pending: of(use.queues.pending, axis),
      borrowed: 0, lent: 0,
      live: i === undefined ? 0 : use.queues.live[i] ?? 0,
      running: i === undefined ? 0 : use.queues.running[i] ?? 0,
      starving: hungry.get(at) ?? null,
      children: [],
    });
    up?.children.push(at);
  });
  for (const row of rows) if (row.children.length) lend(row.children.map((at) => rows[at]!));
  return rows;
}

/** The resource of which the largest part is held or wanted; where nothing is, of which most is guaranteed, and of those alike the one in `above`. */
function dominant(use: QueueUse, wants: (axis: number) => number, guaranteed: (axis: number) => number, above: number): number {
  const parts = (amount: (axis: number) => number) => use.capacity.map((capacity, axis) => (capacity > 0 ? amount(axis) / capacity : 0));
  const largest = (found: number[], nearly: number) => (found.some((part) => part > 0) ? found.findIndex((part) => part >= nearly * Math.max(...found)) : -1);
  const held = largest(parts(wants), 1);
  if (held >= 0) return held;
  const sure = parts(guaranteed);
  return (sure[above] ?? 0) >= ALIKE * Math.max(...sure) ? above : Math.max(0, largest(sure, ALIKE));
}

/** What siblings hold beyond their guarantees is lent by those who leave theirs idle, each in proportion. */
function lend(siblings: QueueRow[]): void {
  const seen = siblings.filter((row) => row.see === SEE_WHOLE);
  for (let axis = 0; axis < 3; axis += 1) {
    const alike = seen.filter((row) => row.axis === axis);
    let borrowed = 0, idle = 0;
    for (const row of alike) {
      row.borrowed = Math.max(0, row.used - row.guaranteed);
      borrowed += row.borrowed;
      idle += Math.max(0, row.guaranteed - row.used);
    }
    const part = idle > 0 ? Math.min(1, borrowed / idle) : 0;
    for (const row of alike) row.lent = Math.max(0, row.guaranteed - row.used) * part;
  }
}

export const SORTS = ["tree", "used", "waiting", "borrowed", "below"] as const;
export type Sort = (typeof SORTS)[number];

const KEYS: Record<Sort, (row: QueueRow) => number> = {
  tree: () => 0,
  used: (row) => part(row, row.used),
  waiting: (row) => part(row, row.pending),
  borrowed: (row) => part(row, row.borrowed),
  below: (row) => (row.starving ? 1e6 : 0) + Math.min(part(row, row.pending), part(row, Math.max(0, row.guaranteed - row.used))),
};

export function part(row: QueueRow, amount: number): number {
  return row.whole > 0 ? amount / row.whole : 0;
}

export const SCALES = ["all", "own"] as const;
/** What the width of a queue's bar stands for: all there is, or what the queue itself is about. */
export type Scale = (typeof SCALES)[number];

/** The amount at the end of a queue's bar. Its own: its guarantee twice, or its maximum; what it uses in any case. */
export function fullOf(row: QueueRow, scale: Scale): number {
  if (scale === "all") return row.whole;
  return Math.max(Math.min(2 * row.guaranteed, row.maximum), row.used) || Math.min(row.pending, row.maximum) || row.whole;
}

export interface Choice {
  search: string;
  sort: Sort;
  /** Paths whose opening differs from what is usual. */
  toggled: ReadonlySet<string>;
}

/** Whether a queue's children show when nobody has said otherwise: all of a small tree, the top of a large one. */
function usuallyOpen(row: QueueRow, count: number): boolean {
  return row.depth === 0 || count <= 60;
}

export function isOpen(row: QueueRow, count: number, toggled: ReadonlySet<string>): boolean {
  return usuallyOpen(row, count) !== toggled.has(row.path);
}

/** The rows to show, in order. A search shows what matches with the queues above it, whatever is closed. */
export function visible(rows: QueueRow[], choice: Choice): QueueRow[] {
  const wanted = choice.search.trim().toLowerCase();
  const keep = wanted ? matching(rows, wanted) : null;
  const key = KEYS[choice.sort];
  const found: QueueRow[] = [];
  const walk = (at: number) => {
    const row = rows[at]!;
    if (keep && !keep.has(at)) return;
    found.push(row);
    if (!keep && !isOpen(row, rows.length, choice.toggled)) return;
    const children = choice.sort === "tree" ? row.children : [...row.children].sort((a, b) => key(rows[b]!) - key(rows[a]!) || a - b);
    children.forEach(walk);
  };
  rows.forEach((row) => row.parent < 0 && walk(row.at));
  return found;
}

function matching(rows: QueueRow[], wanted: string): Set<number> {
  const keep = new Set<number>();
  for (const row of rows) {
    if (!row.path.toLowerCase().includes(wanted)) continue;
    for (let at = row.at; at >= 0 && !keep.has(at); at = rows[at]!.parent) keep.add(at);
  }
  return keep;
}

/** Where a queue stands in the policy document, as a JSON pointer. */
export function pointer(path: string): string {
  return `/queues${path.split(".").slice(1).map((name) => `/${name}`).join("/children")}`;
}
