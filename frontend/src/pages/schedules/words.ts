/** Times of schedules as people read them, and what became of these. Pure. */
import type { Tone } from "../../format/states";
import type { Schedule, ScheduleRun } from "./types";

/** A time in a zone: Sat, 31 Jan 2026, 02:30 CET. A zone that this browser does not know is read as UTC. */
export function inZone(iso: string, zone: string): string {
  const shape = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
  try {
    return new Date(iso).toLocaleString("en-GB", { ...shape, timeZone: zone });
  } catch {
    return new Date(iso).toLocaleString("en-GB", { ...shape, timeZone: "UTC" });
  }
}

/** How long until then: one unit, or "due". */
export function until(iso: string, now: number): string {
  const s = Math.round((Date.parse(iso) - now) / 1000);
  if (s <= 0) return "due";
  const [n, unit] = s < 60 ? [s, "s"] : s < 3600 ? [Math.round(s / 60), "min"] : s < 86_400 ? [Math.round(s / 3600), "h"] : [Math.round(s / 86_400), "d"];
  return `in ${n} ${unit}`;
}

const OUTCOMES: Record<string, [string, Tone]> = {
  started: ["Started", "succeeded"], refused: ["Refused", "failed"], overlap: ["Skipped: overlap", "waiting"],
  late: ["Skipped: too late", "waiting"], suspended: ["Skipped: suspended", "waiting"],
};

/** What became of a time, where it is not told by the state of its job. */
export function outcome(run: ScheduleRun): { word: string; tone: Tone } {
  const [word, tone] = OUTCOMES[run.outcome] ?? [run.outcome, "pending"];
  return { word, tone };
}

export const OVERLAPS: Record<Schedule["overlap"], string> = { skip: "Skip the time", allow: "Start it beside", replace: "Replace it" };
