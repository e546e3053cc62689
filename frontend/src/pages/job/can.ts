/** What can be asked of a job, and what that is called. Pure. */
import type { Job, Me } from "../../api/types";
import { ended } from "../../format/states";
import { mayAct } from "./rights";

export type What = "kill" | "retry" | "priority" | "queue" | "scale" | "restart" | "rollback";

const NAMES: Record<What, string> = { kill: "Kill", retry: "Run again", priority: "Change the priority of", queue: "Move", scale: "Scale", restart: "Restart tasks of", rollback: "Roll back" };

/** As it is called where no button stands beside the job. */
export function nameOf(what: What, job: number): string {
  return `${NAMES[what]} job ${job}`;
}

type Known = Pick<Job, "state" | "kind" | "revision" | "owner" | "queue">;

/** In the order of their buttons. */
export function choicesOf(job: Known, me: Me): What[] {
  if (!mayAct(job, me) || job.state === "SUCCEEDED") return [];
  if (ended(job.state)) return ["retry"];
  return [...(job.kind === "service" ? ["scale", "restart"] as const : []), ...((job.revision ?? 1) > 1 ? ["rollback"] as const : []), "priority", "queue", "kill"];
}

/** What another page hands over to the job's: to ask for this at once. */
export interface Handed { ask: What }

export function handedOf(state: unknown, choices: What[]): What | null {
  const asked = (state as Partial<Handed> | null)?.ask;
  return choices.find((what) => what === asked) ?? null;
}
