/** What the overview computes from its snapshot: sums, freshness, shares. */
import type { NodeBrief as Node, Queue, Resources, SubCluster } from "../../api/types";

export const NODE_STALE_S = 5; // five heartbeats without news
export const SUMMARY_STALE_S = 5;
export type Measure = "memory" | "cores" | "gpus";

export function stale(node: Node): boolean {
  return node.state === "LOST" || node.last_seen_s === null || node.last_seen_s > NODE_STALE_S;
}

/** A node's state; of one that is up, what operators have made of that. */
export function standing(node: Pick<Node, "state" | "duty" | "drained" | "maintenance">): string {
  if (node.state !== "UP" || (node.duty === "in_service" && !node.maintenance?.active)) return node.state;
  if (node.drained) return "DRAINED";
  return { cordoned: "CORDONED", draining: "DRAINING", decommissioned: "LEAVING", in_service: "MAINTENANCE" }[node.duty];
}

/** Whether the sub-cluster's numbers are old, which is not the same as its RM being gone. */
export function summaryStale(sc: SubCluster): boolean {
  return sc.summary_age_s !== undefined && (sc.summary_age_s === null || sc.summary_age_s > SUMMARY_STALE_S);
}

export type Health = { tone: "succeeded" | "running" | "failed" | "lost" | "pending"; word: string; detail: string };

/** Liveness first: is somebody leading, are its numbers fresh, are its nodes up. */
export function health(sc: SubCluster): Health {
  if (sc.frozen) return { tone: "lost", word: "Frozen", detail: "Most nodes fell silent together; nothing is declared lost until they answer." };
  if (!sc.lease_ok) return { tone: "failed", word: "No leader", detail: "Nobody holds the lease. Running containers go on; nothing new is placed." };
  if (summaryStale(sc)) return { tone: "lost", word: "Stale", detail: "Its RM holds the lease but has not published its load." };
  const bad = (sc.nodes.unhealthy ?? 0) + (sc.nodes.lost ?? 0);
  if (!sc.nodes.up) return { tone: "pending", word: "No nodes up", detail: "Nothing can be placed until a node reports." };
  if (sc.duties?.open === 0) return { tone: "pending", word: "Closed", detail: "Operators keep all of its nodes from new work." };
  if (bad) return { tone: "lost", word: "Degraded", detail: `${bad} of its nodes are unhealthy or lost.` };
  return { tone: "succeeded", word: "Healthy", detail: "A leader holds the lease and its nodes report." };
}

/** Node rows as of now: the age an RM gave grows while that RM is silent. */
export function aged(nodes: Node[], subClusters: SubCluster[]): Node[] {
  const extra = new Map(subClusters.map((sc) => [sc.name, sc.summary_age_s ?? 0]));
  return nodes.map((n) => {
    const more = extra.get(n.sub_cluster) ?? 0;
    return n.last_seen_s === null || more < 2 ? n : { ...n, last_seen_s: n.last_seen_s + more };
  });
}

export function ageText(node: Node, coarse: (ms: number) => string): string {
  if (node.last_seen_s !== null) return `silent for ${coarse(node.last_seen_s * 1000)}`;
  return node.state === "REGISTERED" ? "not seen yet" : "age unknown";
}

/** The part of a node that is allocated, 0 to 1, of one resource. */
export function fill(node: Node, measure: Measure): number {
  const [part, whole] = {
    memory: [node.allocated.memory_mib, node.capacity.memory_mib],
    cores: [node.allocated.vcores_milli, node.capacity.vcores_milli],
    gpus: [node.allocated.gpus, node.capacity.gpus],
  }[measure] as [number, number];
  return whole > 0 ? Math.min(1, part / whole) : 0;
}

export interface Shares {
  used: number;
  guaranteed: number;
  maximum: number;
}

/**
 * A queue's use and limits, 0 to 1 of the federation, of the resource it uses
 * the largest share of; of the one it may have least of while it uses nothing.
 */
export function shares(queue: Queue, capacity: Resources): Shares {
  const each = (["memory_mib", "vcores_milli", "gpus"] as const)
    .filter((axis) => capacity[axis] > 0)
    .map((axis) => ({ used: queue.used[axis] / capacity[axis], guaranteed: queue.guaranteed[axis] / capacity[axis], maximum: queue.maximum[axis] / capacity[axis] }));
  return each.sort((a, b) => b.used - a.used || a.maximum - b.maximum)[0] ?? { used: 0, guaranteed: 0, maximum: 0 };
}

export function depth(path: string): number {
  return path.split(".").length - 1;
}
