/** The order of the table's rows: any column, either way, over all sub-clusters. */
import { staleAt, standingOf } from "./look";
import { rackOf, type Fleet } from "./model";

export const SORTS = ["name", "sub", "rack", "state", "memory", "used_memory", "cores", "used_cores", "gpus", "containers", "seen"] as const;
export type Sort = (typeof SORTS)[number];

/** `memory` ascending, `-memory` descending; anything else is the order of sub-cluster, rack and name. */
export function sortOf(text: string): { by: Sort | null; down: boolean } {
  const down = text.startsWith("-");
  const by = SORTS.find((name) => name === (down ? text.slice(1) : text)) ?? null;
  return { by, down };
}

export interface Row {
  part: number;
  row: number;
}

export function sorted(fleet: Fleet, orders: Uint32Array[], sort: string): Row[] {
  const rows: Row[] = [];
  orders.forEach((order, part) => { for (const row of order) rows.push({ part, row }); });
  const { by, down } = sortOf(sort);
  if (!by) return rows;
  const key = keyOf(fleet, by);
  const keyed = rows.map((at, i) => ({ at, i, key: key(at) }));
  const way = down ? -1 : 1;
  keyed.sort((a, b) => (a.key < b.key ? -way : a.key > b.key ? way : a.i - b.i));
  return keyed.map((k) => k.at);
}

function keyOf(fleet: Fleet, by: Sort): (at: Row) => string | number {
  const part = (at: Row) => fleet.parts[at.part]!;
  switch (by) {
    case "name": return (at) => natural(part(at).names[at.row]!);
    case "sub": return (at) => natural(part(at).name);
    case "rack": return (at) => natural(rackOf(part(at), at.row)?.name ?? "");
    case "state": return (at) => standingOf(fleet, part(at), at.row);
    // The longest silence first when descending; those that report are the freshest.
    case "seen": return (at) => (staleAt(fleet, part(at), at.row) ? 2 ** 32 - part(at).columns.silent[at.row]! : 0);
    default: return (at) => part(at).columns[by][at.row]!;
  }
}

function natural(name: string): string {
  return name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));
}
