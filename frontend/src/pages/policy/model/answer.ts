/** What is shown of a simulation's answer: what is clear, rows by queue and by user with the largest change first, and their picture. */
import type { Line } from "../../../charts/series";
import type { Compared, FigureAbout, SimulationResult } from "../types";
import { change, ends, verdict, type Verdict } from "./figures";

export const MAIN = ["wait_mean_s", "wait_p90_s", "slowdown_mean", "latency_p99_s", "utilization_memory", "utilization_vcores", "utilization_gpus",
  "fairness_error", "preemptions", "wasted_part", "jobs_unfinished"] as const;
/** What is told of each queue and of each user. */
export const BY_PART = { wait_mean_s: "Wait", turnaround_mean_s: "Turnaround", share_held: "Share", preemptions: "Preemptions" } as const;
export type ByPart = keyof typeof BY_PART;
export type Kind = "queue" | "user";

export interface Row {
  name: string;
  about: FigureAbout;
  before: Compared | undefined;
  after: Compared;
}

/** A queue or a user. */
export interface PartRow {
  name: string;
  figures: Record<ByPart, Row>;
}

/** The two sides: what it is compared to, and what was asked. */
export function sides(result: SimulationResult) {
  const [first, ...others] = result.comparison.policies;
  return first && { before: first, after: others.at(-1) ?? first };
}

/** Figures over all queues, without those of which neither side can say anything. */
export function mainRows(result: SimulationResult): Row[] {
  const both = sides(result);
  if (!both) return [];
  return MAIN.flatMap((name) => rowOf(name, result.figures.overall[name], both.before.figures[name], both.after.figures[name]))
    .filter((row) => row.after.value.value !== null || (row.before?.value.value ?? null) !== null);
}

function rowOf(name: string, about: FigureAbout | undefined, before: Compared | undefined, after: Compared | undefined): Row[] {
  return about && after ? [{ name, about, before, after }] : [];
}

type Side = NonNullable<ReturnType<typeof sides>>["before"];
type Part = { name: string; figures: Record<string, Compared> };

function parts(side: Side, kind: Kind): Part[] {
  return kind === "queue" ? side.queues.map((q) => ({ name: q.queue, figures: q.figures })) : (side.users ?? []).map((u) => ({ name: u.user, figures: u.figures }));
}

/** Queues or users: those whose figure clearly changes first, which none is to miss, and each the largest change first. */
export function partRows(result: SimulationResult, kind: Kind, by: ByPart): PartRow[] {
  const both = sides(result);
  if (!both) return [];
  const about = (kind === "queue" ? result.figures.by_queue : result.figures.by_user) ?? {};
  const old = new Map(parts(both.before, kind).map((part) => [part.name, part]));
  const figure = (part: Part, name: ByPart) => rowOf(name, about[name], old.get(part.name)?.figures[name], part.figures[name])[0];
  const rows = parts(both.after, kind).flatMap((part) => {
    const [wait, taken, share, preempted] = [figure(part, "wait_mean_s"), figure(part, "turnaround_mean_s"), figure(part, "share_held"), figure(part, "preemptions")];
    return wait && taken && share && preempted ? [{ name: part.name, figures: { wait_mean_s: wait, turnaround_mean_s: taken, share_held: share, preemptions: preempted } }] : [];
  });
  const place = (row: PartRow) => [Number(surely(row.figures[by])), moved(row.figures[by])] as const;
  return rows.map((row) => ({ row, place: place(row) }))
    .sort((a, b) => b.place[0] - a.place[0] || b.place[1] - a.place[1] || a.row.name.localeCompare(b.row.name)).map(({ row }) => row);
}

/** How far a figure moves; below 0 where that cannot be said. */
function moved(row: Row): number {
  const by = row.after.change?.value ?? null;
  return by === null ? -1 : Math.abs(by);
}

export const verdictOf = (row: Row): Verdict => verdict(row.after.change, row.about.better);
const surely = (row: Row): boolean => !["", "unclear"].includes(verdictOf(row));

export interface Clear {
  better: string[];
  worse: string[];
  /** Queues whose jobs wait less, and longer. */
  less: string[];
  longer: string[];
  /** Whether any change has an interval to tell by. */
  told: boolean;
}

/** What an answer says surely: where the 95 % interval of a change leaves out 0. */
export function clear(result: SimulationResult): Clear {
  const main = mainRows(result);
  const queues = partRows(result, "queue", "wait_mean_s");
  const by = (row: Row) => change(row.after.change, row.about.unit).text;
  const titles = (wanted: Verdict) => main.filter((row) => verdictOf(row) === wanted).map((row) => `${row.about.title} ${by(row)}`);
  const waits = (wanted: Verdict) => queues.filter((q) => verdictOf(q.figures.wait_mean_s) === wanted).map((q) => `${q.name} ${by(q.figures.wait_mean_s)}`);
  const told = [...main, ...queues.map((q) => q.figures.wait_mean_s)].some((row) => row.after.change && ends(row.after.change));
  return { better: titles("better"), worse: titles("worse"), less: waits("better"), longer: waits("worse"), told };
}

/** "root.a, root.b and 3 more". */
export function few(names: string[], most = 6): string {
  return names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
}

/** From where to where the picture of these changes goes, 0 in it; a few very long intervals do not press the rest together. */
export function domain(rows: Row[]): [number, number] {
  const changes = rows.flatMap((row) => row.after.change ?? []);
  const values = changes.map((c) => c.value ?? 0);
  const most = 2 * Math.max(0, ...values.map(Math.abs));
  const all = [0, ...values, ...changes.flatMap((c) => ends(c) ?? [])];
  const [low, high] = [Math.max(-most, Math.min(...all)), Math.min(most, Math.max(...all))];
  if (low === high) return [-1, 1];
  const margin = 0.04 * (high - low);
  return [low - margin, high + margin];
}

/** The resource that is used most, over time under both policies; null where runs have nothing over time. */
export function inUseOverTime(result: SimulationResult, from: number): { resource: string; at: number[]; stepS: number; lines: Line[] } | null {
  const both = sides(result);
  const [before, after] = [both?.before, both?.after].map((side) => result.runs.find((run) => run.policy === side?.policy && run.periods)?.periods);
  if (!both || !before || !after) return null;
  const mean = (values: (number | null)[] = []) => values.reduce<number>((sum, v) => sum + (v ?? 0), 0) / Math.max(1, values.length);
  const resource = Object.keys(before.utilization).sort((a, b) => mean(before.utilization[b]) - mean(before.utilization[a]))[0];
  if (!resource) return null;
  const count = Math.max(before.utilization[resource]?.length ?? 0, after.utilization[resource]?.length ?? 0);
  const values = (side: typeof before) => Array.from({ length: count }, (_, i) => side.utilization[resource]?.[i] ?? null);
  return {
    resource, stepS: before.period_s, at: Array.from({ length: count }, (_, i) => from + i * before.period_s),
    lines: [{ label: both.before.policy, color: "st-pending", values: values(before), dash: [6, 4] }, { label: both.after.policy, color: "accent", values: values(after) }],
  };
}
