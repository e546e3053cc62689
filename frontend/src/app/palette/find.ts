/** What the palette offers for what was typed: pages and commands here, names from the server. */
import type { Job, Node, Overview } from "../../api/types";
import { SEE_PATH, STOPPED } from "../../pages/queues/tree";
import type { QueueLayout } from "../../pages/queues/types";

export interface Entry {
  /** Unlike any other entry's; also its element's id. */
  id: string;
  group: string;
  name: string;
  /** Said beside the name, in small. */
  note?: string;
  /** Words that find it as well, and are not shown. */
  words?: string;
  /** Where it leads; without it, `run` does it. */
  to?: string;
  /** What is handed over to where it leads. */
  state?: unknown;
  /** A topic that has to be read anew there: what was seen of it before may be over. */
  anew?: string;
  run?: () => void;
}

export const ON_PAGE = "On this page";
export const ON_JOBS = "On jobs";
export const ON_NODES = "On nodes";
export const ACTIONS = "Actions";
const DOING = [ON_JOBS, ON_NODES, ACTIONS];

/** How well `text` holds what was typed, 0 for not at all: begins with it > a word begins with it > holds it. */
export function score(text: string, typed: string): number {
  const [t, q] = [text.toLowerCase(), typed.toLowerCase()];
  if (q === "") return 1;
  if (t.startsWith(q)) return 4;
  if (t.split(/[\s./_-]+/).some((word) => word.startsWith(q))) return 3;
  return t.includes(q) ? 2 : 0;
}

/** Every word typed must be found; the best come first, equals stay in order. */
export function matching(entries: Entry[], typed: string): Entry[] {
  const words = typed.trim().split(/\s+/).filter(Boolean);
  const scored = entries.map((entry) => {
    const text = `${entry.name} ${entry.note ?? ""} ${entry.words ?? ""} ${entry.group}`;
    const each = words.map((word) => Math.max(score(entry.name, word) * 2, score(text, word)));
    return { entry, points: each.includes(0) ? -1 : each.reduce((a, b) => a + b, 0) };
  });
  return scored.filter((s) => s.points >= 0).sort((a, b) => b.points - a.points).map((s) => s.entry);
}

/** What can be done is offered once: by the page in view, if that does it. Other things may well be called the same. */
export function withoutTwins(entries: Entry[]): Entry[] {
  const here = new Set(entries.filter((e) => e.group === ON_PAGE).map((e) => e.name));
  return entries.filter((e) => e.group === ON_PAGE || !DOING.includes(e.group) || !here.has(e.name));
}

/** Together by group, in the order in which the groups first appear. */
export function grouped(entries: Entry[]): { group: string; entries: Entry[] }[] {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
  return [...groups].map(([group, of]) => ({ group, entries: of }));
}

/** What names of jobs and of nodes are to be looked for by: "node west" is of nodes alone; null: none of these. */
export function namesIn(typed: string): { jobs: string | null; nodes: string | null } {
  const [, kind = "", name = typed] = /^(job|node)s?\s+(.+)$/i.exec(typed.trim()) ?? [];
  return { jobs: kind.toLowerCase() === "node" ? null : name, nodes: kind.toLowerCase() === "job" ? null : name };
}

/** The number of a job, typed as 42 or #42. */
export function jobNumber(typed: string): string | null {
  return /^(?:(?:hydractl )?jobs? )?#?(\d{1,18})$/.exec(typed.trim())?.[1] ?? null;
}

export function jobEntry(job: Pick<Job, "id" | "name" | "state" | "queue">): Entry {
  return { id: `job-${job.id}`, group: "Jobs", name: job.name, note: `#${job.id} · ${job.state.toLowerCase()} · ${job.queue}`, to: `/jobs/${job.id}` };
}

/** Sub-clusters of the overview. `has`: which pages there are. */
export function subClusterEntries(overview: Overview | undefined, has: (to: string) => boolean): Entry[] {
  const to = (name: string) => (has("/fleet") ? `/fleet?sub=${encodeURIComponent(name)}` : "/");
  const there = (overview?.sub_clusters ?? []).filter((s) => s.state !== "decommissioned");
  return there.map((s) => ({ id: `sub-${s.id}`, group: "Sub-clusters", name: s.name, note: s.state, to: to(s.name) }));
}

/** Every queue of the tree of which more than the name is seen. */
export function queueEntries(layout: QueueLayout | undefined): Entry[] {
  if (!layout) return [];
  const { name, parent, see, flags } = layout.queues;
  const paths: string[] = [];
  for (const [at, own] of name.entries()) {
    const up = paths[parent[at] ?? -1];
    paths.push(up === undefined ? own : `${up}.${own}`);
  }
  return paths.flatMap((path, at) => (see[at] === SEE_PATH ? []
    : [{ id: `queue-${path}`, group: "Queues", name: path, note: (flags[at] ?? 0) & STOPPED ? "stopped" : undefined, to: `/queues?queue=${encodeURIComponent(path)}` }]));
}

export function nodeEntry(node: Pick<Node, "id" | "name" | "sub_cluster" | "state">, has: (to: string) => boolean): Entry {
  return { id: `node-${node.id}`, group: "Nodes", name: node.name, note: `${node.sub_cluster} · ${node.state.toLowerCase()}`, to: has("/fleet") ? `/fleet/nodes/${node.id}` : "/" };
}
