/** Queues of the policy in force that a document does not have, and where their jobs may be meant to go. */
import type { Json } from "../types";
import { rowsOf } from "./tree";

/** So many can be asked about at once. */
export const RENAMED_MOST = 300;

export interface Gone {
  queue: string;
  /** A leaf of the document that its name suggests, or "". */
  guess: string;
}
export interface Renamed { gone: Gone[]; leaves: string[] }

const leavesOf = (document: Json | null): string[] => rowsOf(document).filter((row) => row.leaf).map((row) => row.name);
const lastOf = (queue: string): string => queue.slice(queue.lastIndexOf(".") + 1);

export function renamed(before: Json | null, after: Json | null): Renamed {
  const leaves = leavesOf(after);
  const known = new Set(leaves);
  const old = new Set(leavesOf(before));
  const gone = [...old].filter((queue) => !known.has(queue));
  return { gone: gone.map((queue) => ({ queue, guess: guess(queue, leaves, old) })), leaves };
}

/** The one leaf that is new below it or by the same name elsewhere; else the queue above that has no others any more. */
function guess(queue: string, leaves: string[], old: Set<string>): string {
  const fresh = leaves.filter((leaf) => !old.has(leaf));
  for (const some of [fresh.filter((leaf) => leaf.startsWith(`${queue}.`)), fresh.filter((leaf) => lastOf(leaf) === lastOf(queue))]) {
    if (some.length === 1) return some[0]!;
  }
  return leaves.find((leaf) => queue.startsWith(`${leaf}.`)) ?? "";
}

/** Where jobs go: as was said, else as is guessed. What is "" is left out. */
export function movedTo(gone: Gone[], said: Record<string, string>): Record<string, string> {
  const all = gone.slice(0, RENAMED_MOST).map(({ queue, guess }) => [queue, (said[queue] ?? guess).trim()] as const);
  return Object.fromEntries(all.filter(([, to]) => to));
}
