/** Words and shapes of every state: colour is never the only sign. */

export type Tone = "waiting" | "pending" | "running" | "stopping" | "succeeded" | "failed" | "killed" | "lost";

const WORDS: Record<string, [string, Tone]> = {
  SUBMITTED: ["Submitted", "pending"],
  ADMITTED: ["Admitted", "pending"],
  WAITING: ["Waiting", "waiting"],
  PENDING: ["Pending", "pending"],
  ALLOCATED: ["Allocated", "pending"],
  LOCALIZING: ["Fetching files", "pending"],
  RUNNING: ["Running", "running"],
  KILLING: ["Stopping", "stopping"],
  SUCCEEDED: ["Succeeded", "succeeded"],
  FAILED: ["Failed", "failed"],
  KILLED: ["Killed", "killed"],
  LOST: ["Lost", "lost"],
  REGISTERED: ["Not seen yet", "pending"],
  UP: ["Up", "succeeded"],
  UNHEALTHY: ["Unhealthy", "failed"],
  HEALTHY: ["Healthy", "succeeded"],
  FAILING: ["Failing", "failed"],
  UNCHECKED: ["Not checked", "waiting"],
  CORDONED: ["Cordoned", "stopping"],
  DRAINING: ["Draining", "stopping"],
  LEAVING: ["Leaving", "stopping"],
  MAINTENANCE: ["Maintenance", "stopping"],
  DRAINED: ["Drained", "waiting"],
  EMPTYING: ["Emptying", "stopping"],
  ACTIVE: ["Active", "stopping"],
  PLANNED: ["Planned", "pending"],
  DECOMMISSIONED: ["Decommissioned", "killed"],
};

export function word(state: string): string {
  return WORDS[state]?.[0] ?? state.charAt(0) + state.slice(1).toLowerCase();
}

export function tone(state: string): Tone {
  return WORDS[state]?.[1] ?? "pending";
}

export function ended(state: string): boolean {
  return state === "SUCCEEDED" || state === "FAILED" || state === "KILLED" || state === "LOST";
}

export const JOB_STATES = ["SUBMITTED", "ADMITTED", "RUNNING", "KILLING", "SUCCEEDED", "FAILED", "KILLED"] as const;
export const TASK_STATES = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"] as const;
