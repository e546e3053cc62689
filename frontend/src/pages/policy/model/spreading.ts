/** How far a version has spread, in words. */
import type { Convergence, Diff, KindConvergence, Rollout } from "../types";

export const KINDS: Record<KindConvergence["kind"], string> = { rm: "RMs", router: "Routers", gpg: "GPG", node: "Nodes" };

export function behindWord(found: Convergence): string {
  const behind = found.kinds.reduce((sum, kind) => sum + kind.behind, 0);
  if (behind === 0) return found.kinds.some((kind) => kind.told) ? "everything runs it" : "nothing is told to run it";
  return `${behind} ${behind === 1 ? "part does" : "parts do"} not run it yet`;
}

/** How much of a change the stages before the last one try; empty where all of it, or nothing known. */
export function triedFirst(diff: Pick<Diff, "identical" | "staged" | "total"> | null): string {
  if (!diff || diff.identical || diff.staged === diff.total) return "";
  return diff.staged ? `${diff.staged} of these ${diff.total} changes ${diff.staged === 1 ? "is" : "are"} tried in stages.` : "None of this change is tried in a stage: all of it begins with the last one.";
}

export function seconds(value: number | null): string {
  if (value === null) return "–";
  return value < 10 ? `${value.toFixed(2)} s` : `${Math.round(value)} s`;
}

/** What is left of the time a stage is watched, in ms; null when it is not watched now. */
export function soakLeft(rollout: Rollout, now: number): number | null {
  const stage = rollout.stages[rollout.stage];
  if (rollout.state !== "soaking" || !rollout.soak_at || !stage) return null;
  return Math.max(0, Date.parse(rollout.soak_at) + 1000 * stage.soak_s - now);
}

export const STATES: Record<Rollout["state"], { word: string; tone: string }> = {
  pending: { word: "Pending", tone: "pending" },
  running: { word: "Running", tone: "running" },
  soaking: { word: "Soaking", tone: "running" },
  paused: { word: "Paused", tone: "stopping" },
  rolling_back: { word: "Rolling back", tone: "stopping" },
  completed: { word: "Completed", tone: "succeeded" },
  rolled_back: { word: "Rolled back", tone: "killed" },
  failed: { word: "Failed", tone: "failed" },
};
