/** The rows of a plan for the eye: which queues matter, and how long their bars are. */
import type { Resources } from "../../../api/types";
import type { Plan, PlanQueue, PlanSide } from "../types";
import { allWord, RESOURCES, type ResourceName } from "./resources";

export interface Bars {
  queue: PlanQueue;
  /** Parts of all there is, 0 to 1, of the resource shown. */
  before: number | null;
  after: number | null;
  used: number;
  guaranteed: number | null;
  /** What an operator must know, in words. */
  notes: string[];
}

const any = (amounts: Resources): boolean => RESOURCES.some((r) => amounts[r] > 0);

export function notesOf(queue: PlanQueue): string[] {
  const notes: string[] = [];
  if (!queue.before) notes.push("new");
  if (!queue.after) return [...notes, any(queue.used) ? `goes, while it uses ${allWord(queue.used)}` : "goes"];
  if (any(queue.after.gives_back)) notes.push(`gives back ${allWord(queue.after.gives_back)}`);
  if (queue.after.starves) notes.push(queue.before?.starves ? "still starves" : "starves");
  else if (queue.before?.starves) notes.push("no longer starves");
  return notes;
}

/** The resource whose shares the plan moves most; memory where it moves none. */
export function mostMoved(plan: Plan): ResourceName {
  const moved = (r: ResourceName) => plan.queues.reduce((sum, q) => sum + Math.abs((q.after?.share[r] ?? 0) - (q.before?.share[r] ?? 0)), 0) / Math.max(1, plan.capacity[r]);
  return RESOURCES.reduce((best, r) => (moved(r) > moved(best) + 1e-9 ? r : best), "memory_mib" as ResourceName);
}

export function barsOf(plan: Plan, resource: ResourceName): Bars[] {
  const all = Math.max(1, plan.capacity[resource]);
  const part = (side: PlanSide | null, name: "share" | "guaranteed") => (side ? side[name][resource] / all : null);
  return plan.queues.filter((q) => q.path !== "root").map((queue) => ({
    queue, before: part(queue.before, "share"), after: part(queue.after, "share"), used: queue.used[resource] / all, guaranteed: part(queue.after, "guaranteed"), notes: notesOf(queue),
  }));
}

/** Whether anything of it is worth a row at first sight. */
export function matters(bars: Bars): boolean {
  return Math.abs(bars.queue.moved) > 0.0005 || bars.notes.length > 0 || bars.queue.before?.guaranteed.memory_mib !== bars.queue.after?.guaranteed.memory_mib;
}
