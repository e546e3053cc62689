/** What is said of receivers. Pure. */
import type { JobReceiver, Notification, Receiver } from "../../api/types";
import { coarse } from "../../format/units";

export const EVENTS = ["started", "succeeded", "failed", "killed"] as const;

/** When it is told again of what it did not take, with what stands before it. */
function again(next: string | null, now: number): string {
  const ahead = next ? Date.parse(next) - now : 0;
  return ahead >= 1000 ? `; tried again in ${coarse(ahead)}` : "";
}

/** What became of one thing that it is told. next: when it is tried again, if it is. */
export function became({ state, error }: Pick<Notification, "state" | "error">, next: string | null, now: number): string {
  if (state === "sent") return "sent";
  return `${state.replace("_", " ")}${error ? `: ${error}` : ""}${state === "waiting" && error ? again(next, now) : ""}`;
}

/** Of what it is told of a job, and what became of that. */
export function toldOf(receiver: JobReceiver, now: number): string {
  const counts = ([[receiver.sent, "told"], [receiver.waiting, "to be told"], [receiver.given_up, "given up"]] as const).filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`);
  const error = receiver.error ? [`${receiver.error}${again(receiver.next_at, now)}`] : [];
  return [receiver.events.join(", "), ...counts, ...error].join("; ");
}

/** In one line whether what it is told arrives. */
export function standing(receiver: Receiver, now: number): string {
  const waiting = receiver.waiting ? `${receiver.waiting >= 1000 ? "1000 or more" : receiver.waiting} to be told` : "";
  if (!receiver.failures) return waiting || "well";
  return `${receiver.error}, ${receiver.failures === 1 ? "once" : `${receiver.failures} times in a row`}${again(receiver.next_at, now)}${waiting && `; ${waiting}`}`;
}
