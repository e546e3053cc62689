/** Which rows of each sub-cluster are shown, kept as they are while nothing about them changes: their layout is kept with them. */
import { useRef } from "react";
import { matching, moves, type View } from "./filter";
import type { Fleet, Part } from "./model";

interface Kept {
  part: Part;
  key: string;
  order: Uint32Array;
}

export function useOrders(fleet: Fleet | null, view: View): Uint32Array[] {
  const kept = useRef(new Map<string, Kept>());
  if (!fleet) return [];
  const key = [view.q, view.sub, view.rack, view.label, view.state].join("\n");
  return fleet.parts.map((part) => {
    const old = kept.current.get(part.name);
    const order = again(old, part, key, moves(view)) ?? keep(old, matching(fleet, part, view));
    kept.current.set(part.name, { part, key, order });
    return order;
  });
}

function again(old: Kept | undefined, part: Part, key: string, moving: boolean): Uint32Array | null {
  if (!old || old.key !== key || old.part.since !== part.since || old.part.names !== part.names) return null;
  return moving && old.part !== part ? null : old.order;
}

function keep(old: Kept | undefined, order: Uint32Array): Uint32Array {
  return old && old.order.length === order.length && old.order.every((row, at) => row === order[at]) ? old.order : order;
}
