/** How far a service is on its way to another revision. */
import type { Job, Revision } from "../../api/types";
import { ended } from "../../format/states";

/** `2`, or while it is rolled out `3 of 10 tasks at revision 2`. */
export function rolloutText(job: Pick<Job, "revision" | "rollout">): string {
  const r = job.rollout;
  if (!r) return `${job.revision ?? 1}`;
  const failed = r.failures ? `, ${r.failures} of ${r.max_failures + 1} failures` : "";
  const beside = r.standing_in ? `, ${r.standing_in} beside them meanwhile` : "";
  return `${r.updated} of ${r.tasks} tasks at revision ${r.revision}${r.back ? ", going back" : ""}${beside}${failed}`;
}

/** What came of it, beside being followed by another. */
export function became(r: Revision, job: Pick<Job, "revision" | "rollout" | "state">): string {
  const now = r.revision !== (job.revision ?? 1) ? "" : ended(job.state) ? "the last that it ran" : job.rollout ? "on its way" : "in force";
  return [r.outcome, now].filter(Boolean).join(", ") || "followed by another";
}

/** Revisions it may go back to; while one is rolled out, the one before it alone. */
export function before(revisions: Revision[], job: Pick<Job, "revision" | "rollout">): Revision[] {
  return revisions.filter(({ revision }) => (job.rollout ? revision === job.rollout.previous : revision !== job.revision));
}
