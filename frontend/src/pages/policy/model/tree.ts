/** The queues of a document as rows of a tree, and what is guaranteed of each to those below it. */
import type { Json, Path } from "../types";
import { mapping } from "./mapping";

export interface QueueRow {
  /** As the cluster names it: root.prod.etl. */
  name: string;
  /** In the document: queues, prod, children, etl. */
  path: Path;
  depth: number;
  leaf: boolean;
  queue: Json;
}

export function rowsOf(document: Json | null): QueueRow[] {
  const rows: QueueRow[] = [];
  const walk = (holder: unknown, name: string, path: Path, depth: number): void => {
    for (const [key, value] of Object.entries(mapping(holder))) {
      const queue = mapping(value);
      const children = mapping(queue.children);
      const row = { name: `${name}.${key}`, path: [...path, key], depth, leaf: !Object.keys(children).length, queue };
      rows.push(row);
      walk(children, row.name, [...row.path, "children"], depth + 1);
    }
  };
  walk(document?.queues, "root", ["queues"], 1);
  return rows;
}

/** The queue that a place in the document lies in: its path, or null. */
export function queueAt(path: Path): Path | null {
  if (path[0] !== "queues" || path.length < 2) return null;
  const found: Path = ["queues", path[1]!];
  for (let at = 2; path[at] === "children" && path.length > at + 1; at += 2) found.push("children", path[at + 1]!);
  return found;
}

export const NAME = /^[a-z0-9_-]{1,63}$/;
