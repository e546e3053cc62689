/** What the address of the page says: whose history, which range, which moment. Pure. */
import { linesOf, type Line, type LineSpec, type SeriesAnswer, type Span } from "../../charts/series";
import { RESOURCES, type Resource } from "../../format/resources";
import { short } from "../../format/units";
import { hydractl } from "../../format/shell";

/** Seconds back from now; the default is the first. */
export const RANGES = [
  { key: "1h", name: "1 h", s: 3_600 },
  { key: "15m", name: "15 min", s: 900 },
  { key: "6h", name: "6 h", s: 21_600 },
  { key: "24h", name: "24 h", s: 86_400 },
  { key: "7d", name: "7 d", s: 604_800 },
  { key: "30d", name: "30 d", s: 2_592_000 },
] as const;
export const SHOWN_RANGES = ["15m", "1h", "6h", "24h", "7d", "30d"];
const LEAST_S = 60;
const MOST_S = 400 * 86_400;

export interface View {
  scope: string;
  /** A live range ends now; a fixed one is a span. */
  last: string;
  span: Span | null;
  /** The chosen moment. */
  at: number | null;
}

function seconds(text: string | null): number | null {
  if (text === null || !/^\d{9,11}$/.test(text)) return null;
  return Number(text);
}

export function parse(search: string): View {
  const query = new URLSearchParams(search);
  const [from, to] = [seconds(query.get("from")), seconds(query.get("to"))];
  const last = RANGES.find((r) => r.key === query.get("last"))?.key ?? RANGES[0].key;
  const span = from !== null && to !== null && to - from >= 1 && to - from <= MOST_S ? { from, to } : null;
  return { scope: query.get("scope") ?? "", last, span, at: seconds(query.get("at")) };
}

/** The same view as a query; what is left out is the default. */
export function address(view: View): string {
  const query = new URLSearchParams();
  if (view.scope) query.set("scope", view.scope);
  if (view.span) {
    query.set("from", String(view.span.from));
    query.set("to", String(view.span.to));
  } else if (view.last !== RANGES[0].key) query.set("last", view.last);
  if (view.at !== null) query.set("at", String(view.at));
  const text = query.toString();
  return text ? `?${text}` : "";
}

export function lastS(view: View): number {
  return RANGES.find((r) => r.key === view.last)?.s ?? RANGES[0].s;
}

/** The range to draw at `now`, in whole seconds. */
export function spanOf(view: View, now: number): Span {
  return view.span ?? { from: Math.floor(now) - lastS(view), to: Math.floor(now) };
}

/** Moved by a part of its length, never past `now`. */
export function panned(span: Span, by: number, now: number): Span {
  const shift = Math.min(Math.round((span.to - span.from) * by), Math.max(0, Math.floor(now) - span.to));
  return { from: span.from + shift, to: span.to + shift };
}

/** Twice as wide (or half) around its middle. */
export function zoomed(span: Span, factor: number, now: number): Span {
  const [middle, half] = [(span.from + span.to) / 2, Math.max(LEAST_S, (span.to - span.from) * factor) / 2];
  const to = Math.min(Math.floor(now), Math.round(middle + half));
  return { from: Math.round(to - Math.min(MOST_S, 2 * half)), to };
}

export interface ChartSpec {
  title: string;
  unit: string;
  lines: LineSpec[];
  format: (value: number) => string;
  /** Left out while all is zero. */
  optional?: boolean;
}

const DASHED = [6, 4];
const DOTTED = [2, 3];

function resource({ axis, title, unit, large, measured, optional }: Resource, scope: string): ChartSpec {
  const factor = 1 / large;
  const [queue, node] = [scope.startsWith("queue:"), scope.startsWith("node:")];
  const lines: LineSpec[] = [
    { metric: `${queue ? "guaranteed" : "capacity"}_${axis}`, label: queue ? "Guaranteed" : "Capacity", color: "muted", dash: DASHED, factor },
    { metric: `allocated_${axis}`, label: "Allocated", color: "accent", fill: true, factor },
    { metric: `used_${axis}`, label: "Used", color: "st-succeeded", factor },
    { metric: `pending_${axis}`, label: "Pending", color: "st-failed", dash: DOTTED, factor },
  ];
  const there = ({ metric }: LineSpec) => (metric.startsWith("used_") ? !queue && measured !== undefined : !node || metric.startsWith("allocated_"));
  return { title, unit, lines: lines.filter(there), format: short, optional: optional ?? false };
}

/** The charts of a scope, from the top. */
export function charts(scope: string): ChartSpec[] {
  const queue = scope.startsWith("queue:");
  const amounts = RESOURCES.map((each) => resource(each, scope));
  if (scope.startsWith("node:")) return amounts;
  return [
    ...amounts,
    { title: "Decisions", unit: "containers placed per second", format: short,
      lines: [{ metric: "decisions_per_s", label: "Per second", color: "st-running", fill: true }] },
    { title: "Allocation latency", unit: "seconds, from submit to container", format: (v) => short(v),
      lines: [
        { metric: "allocation_latency_p50_s", label: "p50", color: "accent" },
        { metric: "allocation_latency_p99_s", label: "p99", color: "st-failed", dash: DASHED },
      ] },
    { title: "Preemptions", unit: "containers in each window", format: short,
      lines: [{ metric: "preemptions", label: "Preempted", color: "st-killed", bars: true }] },
    { title: queue ? "Dominant share" : "Utilization", unit: "percent of the scarcest resource", format: (v) => `${short(v)} %`,
      lines: [{ metric: "dominant_share", label: queue ? "Dominant share" : "Allocated", color: "accent", fill: true, factor: 100 }] },
    ...(queue ? [] : [nodes()]),
  ];
}

/** The charts of a scope with what was read; without those that are left out. */
export function drawnOf(answer: SeriesAnswer, scope: string): (Omit<ChartSpec, "lines"> & { lines: Line[] })[] {
  const drawn = charts(scope).map((spec) => ({ ...spec, lines: linesOf(answer, scope, spec.lines) }));
  return drawn.filter((spec) => !spec.optional || spec.lines.some((l) => l.values.some((v) => v)));
}

function nodes(): ChartSpec {
  return {
    title: "Nodes", unit: "by state", format: short,
    lines: [
      { metric: "nodes_up", label: "Up", color: "st-succeeded" },
      { metric: "nodes_unhealthy", label: "Unhealthy", color: "st-lost", dash: DASHED },
      { metric: "nodes_lost", label: "Lost", color: "st-failed", dash: DOTTED },
    ],
  };
}

/** The same history from a shell. */
export function command(view: View, metric: string): string {
  const utc = (s: number) => new Date(s * 1000).toISOString();
  const range = view.span ? ["--from", utc(view.span.from), "--to", utc(view.span.to)] : ["--last", view.last];
  return hydractl("series", metric, "--scope", view.scope, ...range, "-o", "csv");
}
