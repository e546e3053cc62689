/** History as the API answers it, and what charts make of it. Pure. */
import { get } from "../api/client";
import type { components } from "../api/schema";
import { two } from "../format/units";

export type SeriesAnswer = components["schemas"]["SeriesAnswer"];
export type SeriesEvent = components["schemas"]["SeriesEvent"];
export type Instant = components["schemas"]["SeriesInstant"];
export type ScopeUsage = components["schemas"]["ScopeUsage"];

/** One line of a chart. `dash`: no line is told apart by colour alone. */
export interface Line {
  label: string;
  /** A colour token without its dashes: "accent", "st-failed". */
  color: string;
  values: (number | null)[];
  fill?: boolean;
  dash?: number[];
  bars?: boolean;
}

/** Which metric becomes which line; `factor` turns its unit into the chart's. */
export interface LineSpec extends Omit<Line, "values"> {
  metric: string;
  factor?: number;
}

/** Seconds since 1970. */
export interface Span {
  from: number;
  to: number;
}

export function seriesPath(metrics: string[], scopes: string[], span: Span | { last: number }, points: number, now: number): string {
  const from = "last" in span ? now - span.last : span.from;
  const query = new URLSearchParams({ metric: metrics.join(","), scope: scopes.join(","), from: String(from), points: String(points) });
  if (!("last" in span)) query.set("to", String(span.to));
  return `/series?${query.toString()}`;
}

export function readSeries(path: string, signal: AbortSignal): Promise<SeriesAnswer> {
  return get<SeriesAnswer>(path, signal);
}

export function linesOf(answer: SeriesAnswer, scope: string, specs: LineSpec[]): Line[] {
  return specs.flatMap(({ metric, factor = 1, ...line }) => {
    const found = answer.series.find((s) => s.scope === scope && s.metric === metric);
    return found ? [{ ...line, values: found.values.map((v) => (v === null ? null : v * factor)) }] : [];
  });
}

/** Whether there is anything to draw. */
export function known(lines: Line[]): boolean {
  return lines.some((line) => line.values.some((v) => v !== null));
}

/** The last point at or before `t`; -1 before the first. */
export function indexAt(at: number[], t: number): number {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((at[middle] as number) <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The point one step before or after `t`, inside the range. */
export function stepped(at: number[], t: number | null, by: number): number | null {
  if (!at.length) return null;
  const now = t === null ? at.length - 1 : indexAt(at, t);
  return at[Math.min(at.length - 1, Math.max(0, now + by))] ?? null;
}

function cell(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** RFC 4180, times in UTC; an unknown value is an empty field. */
export function csv(at: number[], lines: Line[], unit: string): string {
  const head = ["time", ...lines.map((line) => `${line.label}${unit ? ` (${unit})` : ""}`)];
  const rows = at.map((t, i) => [new Date(t * 1000).toISOString(), ...lines.map((line) => String(line.values[i] ?? ""))]);
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** As precisely as a step of so many seconds needs, in the reader's own time. */
export function timeOfDay(d: Date, stepS: number): string {
  return `${two(d.getHours())}:${two(d.getMinutes())}${stepS < 60 ? `:${two(d.getSeconds())}` : ""}`;
}

/** A moment, likewise. */
export function timeLabel(t: number, stepS: number): string {
  const d = new Date(t * 1000);
  const day = d.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return `${day}, ${timeOfDay(d, stepS)}`;
}

/** What a legend says while the pointer is elsewhere: the last value, or the one before while that window is not over. */
export function latest(values: ArrayLike<number | null | undefined>): number | null {
  return values[values.length - 1] ?? values[values.length - 2] ?? null;
}
