/** Geometry of the Gantt chart of a job's attempts. Times are ms since 1970, lengths pixels. Pure. */
import type { Container } from "../../api/types";
import { tone, type Tone } from "../../format/states";

export const ROW = 16;
export type ColourBy = "state" | "sub-cluster";

export interface Bar {
  attempt: Container;
  row: number;
  /** When it was given its place, when it began to run (NaN: never), and its end or now. */
  from: number;
  ran: number;
  to: number;
  open: boolean;
}

export interface Gantt {
  from: number;
  to: number;
  /** "group/index" of each row. */
  rows: string[];
  bars: Bar[];
  subClusters: string[];
}

/** A row per task, in the order in which tasks began; attempts of one task share its row. */
export function layout(attempts: Container[], submitted: number, now: number): Gantt {
  const sorted = attempts.toSorted((a, b) => Date.parse(a.allocated_at) - Date.parse(b.allocated_at) || a.group.localeCompare(b.group) || a.index - b.index);
  const numbers = new Map<string, number>();
  const bars = sorted.map((attempt) => {
    const name = `${attempt.group}/${attempt.index}`;
    const row = numbers.get(name) ?? numbers.size;
    numbers.set(name, row);
    const from = Date.parse(attempt.allocated_at);
    const open = attempt.finished_at === null;
    const to = attempt.finished_at ? Date.parse(attempt.finished_at) : Math.max(now, from);
    return { attempt, row, from, ran: attempt.started_at ? Date.parse(attempt.started_at) : NaN, to, open };
  });
  const first = bars.length ? Math.min(submitted, ...chunk(bars, (b) => b.from, Math.min)) : submitted;
  const last = bars.length ? Math.max(...chunk(bars, (b) => b.to, Math.max)) : now;
  return { from: first, to: Math.max(last, first + 1), rows: [...numbers.keys()], bars, subClusters: [...new Set(attempts.map((a) => a.sub_cluster))].sort() };
}

/** Spreading ten thousand numbers over a call is slow; a reduction is not. */
function chunk(bars: Bar[], of: (b: Bar) => number, pick: (...n: number[]) => number): number[] {
  return bars.length ? [bars.reduce((best, b) => pick(best, of(b)), of(bars[0] as Bar))] : [];
}

export interface Span {
  from: number;
  to: number;
}

/** The part of time that is shown, from the address: "120-4500" in ms after `start`; everything without one. */
export function readZoom(text: string | null, all: Span): Span {
  const found = /^(\d{1,13})-(\d{1,13})$/.exec(text ?? "");
  if (!found) return all;
  const [from, to] = [all.from + Number(found[1]), all.from + Number(found[2])];
  return to - from >= 10 ? { from, to } : all;
}

export function writeZoom(span: Span, all: Span): string {
  if (span.from <= all.from && span.to >= all.to) return "";
  return `${Math.max(0, Math.round(span.from - all.from))}-${Math.round(span.to - all.from)}`;
}

/** Nearer (`factor` < 1) or farther around `at`, never beyond all there is. */
export function zoom(span: Span, all: Span, factor: number, at = (span.from + span.to) / 2): Span {
  const length = Math.min(all.to - all.from, Math.max(50, (span.to - span.from) * factor));
  const from = at - ((at - span.from) / (span.to - span.from)) * length;
  return keep({ from, to: from + length }, all);
}

export function pan(span: Span, all: Span, by: number): Span {
  return keep({ from: span.from + by, to: span.to + by }, all);
}

function keep(span: Span, all: Span): Span {
  const length = span.to - span.from;
  const from = Math.min(Math.max(span.from, all.from), Math.max(all.from, all.to - length));
  return { from, to: from + length };
}

export function x(at: number, span: Span, width: number): number {
  return ((at - span.from) / (span.to - span.from)) * width;
}

/** The bar under a point of the drawn part, the latest where several are. */
export function hit(g: Gantt, span: Span, width: number, px: number, row: number): Bar | undefined {
  const slack = ((span.to - span.from) / width) * 3;
  const at = span.from + (px / width) * (span.to - span.from);
  return g.bars.findLast((b) => b.row === row && b.from - slack <= at && at <= b.to + slack);
}

/** Colours of sub-clusters after Okabe and Ito; a pattern of stripes tells the fifth from the first. */
export const SUB_COLOURS = ["--gantt-0", "--gantt-1", "--gantt-2", "--gantt-3"];

export function colourOf(bar: Bar, by: ColourBy, subClusters: string[]): string {
  if (by === "state") return `--st-${toneOf(bar)}`;
  return SUB_COLOURS[subClusters.indexOf(bar.attempt.sub_cluster) % SUB_COLOURS.length] ?? "--gantt-0";
}

function toneOf(bar: Pick<Bar, "attempt">): Tone {
  return tone(bar.attempt.state);
}
