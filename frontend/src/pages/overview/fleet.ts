/** What the overview computes from its snapshot: sums, freshness, shares. */
import type { Node, Queue, Resources, SubCluster } from "../../api/types";
import { AXES } from "../../format/resources";
import { coarse, many } from "../../format/units";

const NODE_STALE_S = 5; // five heartbeats without news
const SUMMARY_STALE_S = 5;
/** A node's state; of one that is up, what operators have made of that. */
export function standing(node: Pick<Node, "state" | "duty" | "drained" | "maintenance" | "sub_cluster_state">): string {
  const leaves = node.sub_cluster_state === "draining";
  if (node.state !== "UP" || (node.duty === "in_service" && !node.maintenance?.active && !leaves)) return node.state;
  if (node.drained) return "DRAINED";
  if (leaves && (node.duty === "in_service" || node.duty === "cordoned")) return "DRAINING";
  return { cordoned: "CORDONED", draining: "DRAINING", decommissioned: "LEAVING", in_service: "MAINTENANCE" }[node.duty];
}

/** What still keeps a draining or lost sub-cluster, or nothing. */
export function leftThere(sc: Pick<SubCluster, "left">): string {
  const said = [many(sc.left?.jobs ?? 0, "job"), many(sc.left?.containers ?? 0, "container")];
  return said.filter((part) => !part.startsWith("0 ")).join(" and ");
}

/** Why it cannot be decommissioned yet, and what to do, in the API's words; nothing where it can. */
export function keptBy(sc: Pick<SubCluster, "name" | "state" | "left">): string {
  const left = leftThere(sc);
  const leave = sc.state === "lost"
    ? `its jobs leave by themselves once routing gives them another home; to stop them instead, start a worker for queue rm.${sc.name}, then: hydractl kill JOB... (hydractl jobs --state live --limit 0 --columns job,name,home tells which)`
    : "its jobs leave once no container is left";
  return left && `${left} left; ${leave}`;
}

/** Whether the sub-cluster's numbers are old, which is not the same as its RM being gone. */
export function summaryStale(sc: SubCluster): boolean {
  return sc.summary_age_s !== undefined && (sc.summary_age_s === null || sc.summary_age_s > SUMMARY_STALE_S);
}

export type Health = { tone: "succeeded" | "running" | "failed" | "lost" | "pending"; word: string; detail: string };

/** Liveness first: is somebody leading, are its numbers fresh, are its nodes up. */
export function health(sc: SubCluster): Health {
  if (sc.state === "lost") return { tone: "lost", word: "Lost", detail: sc.message || "Its RM and its nodes are silent." };
  if (sc.state === "joining") return { tone: "pending", word: "Joining", detail: `It waits for ${sc.waits_for?.join(" and ") || "its first round"}.` };
  if (sc.frozen) return { tone: "lost", word: "Frozen", detail: "Most nodes fell silent together; nothing is declared lost until they answer." };
  if (!sc.lease_ok) return { tone: "failed", word: "No leader", detail: "Nobody holds the lease. Running containers go on; nothing new is placed." };
  if (summaryStale(sc)) return { tone: "lost", word: "Stale", detail: "Its RM holds the lease but has not published its load." };
  if (sc.state === "draining") return { tone: "pending", word: "Draining", detail: "Nothing new is sent there." };
  const bad = (sc.nodes.unhealthy ?? 0) + (sc.nodes.lost ?? 0);
  if (!sc.nodes.up) return { tone: "pending", word: "No nodes up", detail: "Nothing can be placed until a node reports." };
  if (sc.duties?.open === 0) return { tone: "pending", word: "Closed", detail: "Operators keep all of its nodes from new work." };
  if (bad) return { tone: "lost", word: "Degraded", detail: `${bad} of its nodes are unhealthy or lost.` };
  return { tone: "succeeded", word: "Healthy", detail: "A leader holds the lease and its nodes report." };
}

/** `Silent for 12 s`, or nothing while the node reports. moreMs: since that was said. */
export function silentFor(node: Pick<Node, "state" | "last_seen_s">, moreMs = 0): string {
  if (node.last_seen_s === null) return node.state === "REGISTERED" ? "Not seen yet" : "Its age is unknown";
  const ms = node.last_seen_s * 1000 + moreMs;
  return node.state === "LOST" || ms > NODE_STALE_S * 1000 ? `Silent for ${coarse(ms)}` : "";
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
  const each = AXES
    .filter((axis) => capacity[axis] > 0)
    .map((axis) => ({ used: queue.used[axis] / capacity[axis], guaranteed: queue.guaranteed[axis] / capacity[axis], maximum: queue.maximum[axis] / capacity[axis] }));
  return each.sort((a, b) => b.used - a.used || a.maximum - b.maximum)[0] ?? { used: 0, guaranteed: 0, maximum: 0 };
}

export function depth(path: string): number {
  return path.split(".").length - 1;
}
