/** Overrides on days: the weeks that are shown, and in which row of a week each stands. Days are those of the reader's clock. */
import type { Override } from "../types";

export type Span = "week" | "month";

export interface Day {
  start: number;
  end: number;
  /** 2026-03-02. */
  key: string;
  day: number;
  inMonth: boolean;
}

export interface Bar {
  override: Override;
  /** Columns of the week, 0 to 6. */
  from: number;
  to: number;
  lane: number;
  /** It begins before this week, or goes on after it. */
  before: boolean;
  after: boolean;
}

export interface Week {
  days: Day[];
  bars: Bar[];
  lanes: number;
}

export function dayKey(at: Date): string {
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
}

export function dayFrom(key: string | null): Date {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(key ?? "");
  const at = found ? new Date(Number(found[1]), Number(found[2]) - 1, Number(found[3])) : new Date();
  return Number.isNaN(at.getTime()) ? new Date() : new Date(at.getFullYear(), at.getMonth(), at.getDate());
}

/** Monday of that week. */
export function monday(at: Date): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() - ((at.getDay() + 6) % 7));
}

const plus = (at: Date, days: number): Date => new Date(at.getFullYear(), at.getMonth(), at.getDate() + days);

/** The next or previous page of the calendar. */
export function turned(at: Date, span: Span, by: 1 | -1): Date {
  return span === "week" ? plus(at, 7 * by) : new Date(at.getFullYear(), at.getMonth() + by, 1);
}

export function weeksOf(at: Date, span: Span, overrides: readonly Override[]): Week[] {
  const first = monday(span === "week" ? at : new Date(at.getFullYear(), at.getMonth(), 1));
  const last = span === "week" ? plus(first, 6) : new Date(at.getFullYear(), at.getMonth() + 1, 0);
  const weeks: Week[] = [];
  for (let start = first; start <= last; start = plus(start, 7)) weeks.push(week(start, at.getMonth(), overrides));
  return weeks;
}

/** When it ends; one that was cancelled ended then. */
export function endOf(one: Override): number {
  return one.cancelled_at ? Math.max(Date.parse(one.starts_at), Math.min(Date.parse(one.ends_at), Date.parse(one.cancelled_at))) : Date.parse(one.ends_at);
}

function week(start: Date, month: number, overrides: readonly Override[]): Week {
  const days = Array.from({ length: 7 }, (_, n) => {
    const day = plus(start, n);
    return { start: day.getTime(), end: plus(day, 1).getTime(), key: dayKey(day), day: day.getDate(), inMonth: day.getMonth() === month };
  });
  const [begins, ends] = [days[0]!.start, days[6]!.end];
  const there = overrides
    .filter((one) => Date.parse(one.starts_at) < ends && endOf(one) > begins)
    .sort((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at) || a.id - b.id);
  const until: number[] = []; // last column that each lane is taken to
  const bars = there.map((override) => {
    const from = days.findIndex((day) => Date.parse(override.starts_at) < day.end);
    const to = Math.max(from, days.findLastIndex((day) => endOf(override) > day.start));
    const free = until.findIndex((column) => column < from);
    const lane = free < 0 ? until.length : free;
    until[lane] = to;
    return { override, from, to, lane, before: Date.parse(override.starts_at) < begins, after: endOf(override) > ends };
  });
  return { days, bars, lanes: until.length };
}
