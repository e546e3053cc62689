/** Use by the hour as bars: what stands at each moment, per queue. Pure. */
import type { SeriesEvent } from "../../charts/series";
import type { UsedHours, UsedTags } from "./types";

export const MEASURES = [
  { name: "memory", label: "Memory", unit: "GiB hours", of: (r: Held) => r.memory_mib_s / 1024 / 3600 },
  { name: "cores", label: "Cores", unit: "core hours", of: (r: Held) => r.vcores_milli_s / 1000 / 3600 },
  { name: "gpus", label: "GPUs", unit: "GPU hours", of: (r: Held) => r.gpu_s / 3600 },
] as const;
type Row = UsedHours["results"][number];
type Held = Pick<Row, "memory_mib_s" | "vcores_milli_s" | "gpu_s">;

export interface Bar {
  /** When it begins, ms since 1970. */
  at: number;
  total: number;
  parts: { queue: string; amount: number }[];
}

/** A bar for every hour or day of the span, also where nothing was used. */
export function bars(found: UsedHours, of: (r: Held) => number): Bar[] {
  const step = found.step === "day" ? 86_400_000 : 3_600_000;
  const begin = Math.floor(Date.parse(found.begin) / step) * step;
  const made: Bar[] = [];
  for (let at = begin; at < Date.parse(found.end); at += step) made.push({ at, total: 0, parts: [] });
  for (const row of found.results) {
    const bar = made[Math.floor((Date.parse(row.at) - begin) / step)];
    const amount = of(row);
    if (!bar || amount <= 0) continue;
    bar.total += amount;
    bar.parts.push({ queue: row.queue, amount });
  }
  return made;
}

/** Per queue and in all, the most used first. */
export function sums(found: UsedHours): { queue: string; containers: number; memory: number; cores: number; gpus: number }[] {
  const by = new Map<string, { queue: string; containers: number; memory: number; cores: number; gpus: number }>();
  for (const row of found.results) {
    const sum = by.get(row.queue) ?? { queue: row.queue, containers: 0, memory: 0, cores: 0, gpus: 0 };
    sum.containers += row.containers;
    sum.memory += MEASURES[0].of(row);
    sum.cores += MEASURES[1].of(row);
    sum.gpus += MEASURES[2].of(row);
    by.set(row.queue, sum);
  }
  return [...by.values()].sort((a, b) => b.memory - a.memory || (a.queue < b.queue ? -1 : 1));
}

/** All tags of a day past the first that are told apart. */
export const OTHERS = "(others)";
/** Behind the tags, whatever they used. */
const last = (tag: string) => (tag === OTHERS ? 1 : tag === "" ? 2 : 0);

export interface TagUse { tag: string; containers: number; failed: number; memory: number; cores: number; gpus: number; used: number | null; taken: number | null; wait: number | null }

/**
 * Per tag over all queues, what held most cores first. used: what processors really did of the core hours, from 0 on;
 * taken: what the containers took of the memory at their peaks, likewise. wait: of a task, ms on average.
 */
export function byTag(found: UsedTags): TagUse[] {
  const by = new Map<string, TagUse & { cpu: number; peak: number; tasks: number; waited: number }>();
  for (const row of found.results) {
    const sum = by.get(row.tag) ?? { tag: row.tag, containers: 0, failed: 0, memory: 0, cores: 0, gpus: 0, used: null, taken: null, wait: null, cpu: 0, peak: 0, tasks: 0, waited: 0 };
    sum.containers += row.containers;
    sum.failed += row.failed;
    sum.memory += MEASURES[0].of(row);
    sum.cores += MEASURES[1].of(row);
    sum.gpus += MEASURES[2].of(row);
    sum.cpu += row.cpu_ms / 3_600_000;
    sum.peak += row.peak_memory_mib_s / 1024 / 3600;
    sum.tasks += row.tasks;
    sum.waited += row.waited_s * 1000;
    by.set(row.tag, sum);
  }
  const part = (of: number, all: number) => (all > 0 ? of / all : null);
  return [...by.values()].map(({ cpu, peak, tasks, waited, ...sum }) => ({ ...sum, used: part(cpu, sum.cores), taken: part(peak, sum.memory), wait: part(waited, tasks) }))
    .sort((a, b) => last(a.tag) - last(b.tag) || b.cores - a.cores || (a.tag < b.tag ? -1 : 1));
}

/** Values from 0 to `most` as an SVG path in a square of 100; gaps where nothing is known. */
export function linePath(values: (number | null)[], most: number): string {
  const wide = Math.max(1, values.length - 1);
  let pen = "M";
  return values.map((v, i) => {
    if (v === null) { pen = "M"; return ""; }
    const step = `${pen}${((100 * i) / wide).toFixed(1)} ${(96 - (most > 0 ? (92 * v) / most : 0)).toFixed(1)}`;
    pen = "L";
    return step;
  }).join("");
}

/** Where the changes of the policy lie on that line, from 0 to 100, and what they were: those within its points. */
export function policyMarks(at: number[], events: SeriesEvent[]): { x: number; event: SeriesEvent }[] {
  const [first, last] = [at[0], at.at(-1)];
  if (first === undefined || last === undefined || last <= first) return [];
  const end = last + (last - first) / (at.length - 1); // the last point stands for a while, too
  return events.filter((e) => e.kind !== "sub-cluster")
    .map((event) => ({ event, s: Date.parse(event.at) / 1000 }))
    .filter(({ s }) => s >= first && s < end)
    .map(({ event, s }) => ({ event, x: Math.min(100, (100 * (s - first)) / (last - first)) }));
}
