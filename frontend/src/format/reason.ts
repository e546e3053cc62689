/** Why a group waits, as one plain sentence with the numbers the scheduler gave. */
import type { Group, Resources, WaitReason } from "../api/types";
import { cores, count, memory } from "./units";

export function amounts(r: Partial<Resources> | undefined): string {
  if (!r) return "";
  const parts = [];
  if (r.memory_mib !== undefined) parts.push(memory(r.memory_mib));
  if (r.vcores_milli !== undefined) parts.push(`${cores(r.vcores_milli)} ${r.vcores_milli === 1000 ? "core" : "cores"}`);
  if (r.gpus) parts.push(`${r.gpus} ${r.gpus === 1 ? "GPU" : "GPUs"}`);
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

const WITHOUT_TEXT: Record<string, (r: WaitReason) => string> = {
  no_room: () => "No node has enough room free at the moment",
  queue_maximum: () => "The queue is at its maximum",
  dependencies: () => "It waits for the groups it comes after",
  no_node_matches: () => "No node matches its labels or locality",
  no_nodes: () => "The sub-cluster has no node that is up",
  backoff: () => "Its last attempt failed; it waits before the next one",
};

/** The server's sentence where it gave one, followed by asked and free amounts if it does not name them itself. */
export function sentence(reason: WaitReason): string {
  if (reason.code === "no_room" && reason.asked && reason.largest_free) {
    return `Each asks for ${amounts(reason.asked)}; the node with most room has ${amounts(reason.largest_free)} free. They start when there is room.`;
  }
  const text = (reason.text ?? WITHOUT_TEXT[reason.code]?.(reason) ?? `It waits (${reason.code})`).replace(/\.$/, "");
  const asked = amounts(reason.asked);
  const free = amounts(reason.largest_free);
  const parts = [];
  if (asked && !text.includes(asked)) parts.push(`each task asks for ${asked}`);
  if (free && !text.includes(free)) parts.push(`the most any node has free is ${free}`);
  const tail = /\d/.test(text) ? "" : parts.length ? `: ${parts.join("; ")}` : "";
  return `${text}${tail}.`;
}

/** "3 tasks of map wait" and why; null when nothing of the group waits. */
export function waitingLine(group: Group): { who: string; why: string } | null {
  if (!group.reason) return null;
  const n = group.reason.waiting ?? group.pending;
  const who = n === 1 ? `1 task of ${group.name} waits` : `${count(n)} tasks of ${group.name} wait`;
  return { who, why: sentence(group.reason) };
}
