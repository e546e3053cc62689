/** What is said of receivers. Pure. */
import type { Receiver } from "../../api/types";
import { coarse } from "../../format/units";

export const EVENTS = ["started", "succeeded", "failed", "killed"] as const;

/** In one line whether what it is told arrives. */
export function standing(receiver: Receiver, now: number): string {
  const waiting = receiver.waiting ? `${receiver.waiting >= 1000 ? "1000 or more" : receiver.waiting} to be told` : "";
  if (!receiver.failures) return waiting || "well";
  const ahead = receiver.next_at ? Date.parse(receiver.next_at) - now : 0;
  const again = ahead >= 1000 ? `; tried again in ${coarse(ahead)}` : "";
  return `${receiver.error}, ${receiver.failures === 1 ? "once" : `${receiver.failures} times in a row`}${again}${waiting && `; ${waiting}`}`;
}
