/** What accounts used, as the ledger has it, summed and over time. Pure. */
import type { components } from "../../api/schema";
import type { Line } from "../../charts/series";
import { hydractl } from "../../format/shell";

type Schemas = components["schemas"];
export type UsedHours = Schemas["UsedHours"];
export type UsedTags = Schemas["UsedTags"];
export type UsedAccounts = Schemas["UsedAccounts"];
type Amounts = Omit<UsedAccounts["results"][number], "owner">;
type Row = Amounts & { queue: string };

/** What is looked at; `owner`, `queue` and `tag` empty: one's own, of all queues, whatever the tags. */
export interface Shown {
  days: number;
  owner: string;
  queue: string;
  tag: string;
}

export const DAYS = [{ value: "1", label: "The last day" }, { value: "7", label: "The last week" }, { value: "30", label: "The last 30 days" }, { value: "90", label: "The last 90 days" }];
const USUAL_DAYS = 7;

export function daysOf(text: string | null): number {
  return Number(DAYS.find(({ value }) => value === text)?.value ?? USUAL_DAYS);
}

export function shownOf(search: string): Shown {
  const query = new URLSearchParams(search);
  return { days: daysOf(query.get("days")), owner: query.get("owner")?.trim() ?? "", queue: query.get("queue") ?? "", tag: query.get("tag") ?? "" };
}

/** The same as a query; what is left out is the default. */
export function shownQuery({ days, owner, queue, tag }: Shown): string {
  const query = new URLSearchParams();
  if (days !== USUAL_DAYS) query.set("days", String(days));
  if (owner) query.set("owner", owner);
  if (queue) query.set("queue", queue);
  if (tag) query.set("tag", tag);
  const text = query.toString();
  return text ? `?${text}` : "";
}

/** The same from a shell. */
export function command({ days, owner, queue }: Shown, ...more: string[]): string {
  return hydractl("usage", ...more, "--days", days, ...(owner ? ["--owner", owner] : []), ...(queue ? ["--queue", queue] : []));
}

/** Of one resource, times hours: what was held, what of it was used, and what was not; null where nobody measured. */
export interface Part {
  held: number;
  /** What was held where somebody measured: of this alone it is known what was used. */
  measured: number;
  used: number | null;
  wasted: number | null;
}

export interface Spent {
  containers: number;
  failed: number;
  memory: Part;
  cores: Part;
  gpus: number;
  /** Tasks that could have started at the submit, and how many hours they did not, together. */
  tasks: number;
  waited: number;
}

const NO_PART: Part = { held: 0, measured: 0, used: null, wasted: null };
const NOTHING: Spent = { containers: 0, failed: 0, memory: NO_PART, cores: NO_PART, gpus: 0, tasks: 0, waited: 0 };

function spentOf(row: Amounts): Spent {
  // Of hours before it was kept nothing is known; a container that was measured took some memory.
  const measured = row.cpu_ms > 0 || row.peak_memory_mib_s > 0;
  const part = (held: number, used: number): Part => (measured ? { held, measured: held, used, wasted: Math.max(0, held - used) } : { ...NO_PART, held });
  return {
    containers: row.containers, failed: row.failed, gpus: row.gpu_s / 3600, tasks: row.tasks, waited: row.waited_s / 3600,
    memory: part(row.memory_mib_s / 1024 / 3600, row.peak_memory_mib_s / 1024 / 3600),
    cores: part(row.vcores_milli_s / 3_600_000, row.cpu_ms / 3_600_000),
  };
}

const both = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : a + b);
const joined = (a: Part, b: Part): Part => ({ held: a.held + b.held, measured: a.measured + b.measured, used: both(a.used, b.used), wasted: both(a.wasted, b.wasted) });

export function spent(rows: Row[]): Spent {
  return rows.map(spentOf).reduce((a, b) => ({
    containers: a.containers + b.containers, failed: a.failed + b.failed, memory: joined(a.memory, b.memory), cores: joined(a.cores, b.cores),
    gpus: a.gpus + b.gpus, tasks: a.tasks + b.tasks, waited: a.waited + b.waited,
  }), NOTHING);
}

/** What was used or wasted, in percent of what was held where somebody measured; null where nobody did. */
export function percent(amount: number | null, { measured }: Part): number | null {
  return amount === null || measured === 0 ? null : Math.round((100 * amount) / measured);
}

/** How long such a task waited on average, in ms. */
export const meanWait = ({ tasks, waited }: Spent): number | null => (tasks > 0 ? (waited * 3_600_000) / tasks : null);

function grouped<R extends Row>(rows: R[], keyOf: (row: R) => string): { key: string; spent: Spent }[] {
  const by = new Map<string, R[]>();
  for (const row of rows) {
    const of = by.get(keyOf(row));
    if (of) of.push(row);
    else by.set(keyOf(row), [row]);
  }
  return [...by].map(([key, of]) => ({ key, spent: spent(of) }));
}

const byCores = (a: { key: string; spent: Spent }, b: { key: string; spent: Spent }) => b.spent.cores.held - a.spent.cores.held || (a.key < b.key ? -1 : 1);

/** What held most cores first. */
export function byQueue(found: UsedHours): { key: string; spent: Spent }[] {
  return grouped(found.results, (row) => row.queue).sort(byCores);
}

/** All tags of a day past the first that are told apart. */
export const OTHERS = "(others)";
/** Behind the tags, whatever they used. */
const last = (tag: string) => (tag === OTHERS ? 1 : tag === "" ? 2 : 0);

/** Over all queues, what held most cores first. */
export function byTag(found: UsedTags): { key: string; spent: Spent }[] {
  return grouped(found.results, (row) => row.tag).sort((a, b) => last(a.key) - last(b.key) || byCores(a, b));
}

/** As they come: who held most cores first. */
export function byAccount(found: UsedAccounts): { key: string; spent: Spent }[] {
  return found.results.map((row) => ({ key: row.owner, spent: spentOf(row) }));
}

export interface LedgerChart {
  title: string;
  unit: string;
  lines: Line[];
}

/** A point for every hour or day of the span, also where nothing ended. queue: of it alone, "" for all. */
export function overTime(found: UsedHours, queue: string): { at: number[]; stepS: number; charts: LedgerChart[] } {
  const stepS = found.step === "day" ? 86_400 : 3_600;
  const [begin, end] = [Math.floor(Date.parse(found.begin) / 1000 / stepS) * stepS, Date.parse(found.end) / 1000];
  const rows: Row[][] = [];
  for (let at = begin; at < end; at += stepS) rows.push([]);
  for (const row of found.results) {
    if (!queue || row.queue === queue) rows[Math.floor((Date.parse(row.at) / 1000 - begin) / stepS)]?.push(row);
  }
  return { at: rows.map((_, i) => begin + i * stepS), stepS, charts: chartsOf(rows.map(spent), found.step) };
}

function chartsOf(points: Spent[], step: string): LedgerChart[] {
  const parts = (of: (point: Spent) => Part): Line[] => [
    { label: "Allocated", color: "st-waiting", bars: true, values: points.map((p) => of(p).held) },
    { label: "Used", color: "accent", bars: true, values: points.map((p) => of(p).used) },
    { label: "Wasted", color: "st-failed", dash: [2, 3], values: points.map((p) => of(p).wasted) },
  ];
  const one = (label: string, color: string, values: (number | null)[]): Line[] => [{ label, color, bars: true, values }];
  const charts = [
    { title: "Memory", unit: `GiB hours by ${step}`, lines: parts((p) => p.memory) },
    { title: "Cores", unit: `core hours by ${step}`, lines: parts((p) => p.cores) },
    { title: "GPUs", unit: `GPU hours by ${step}`, lines: one("Allocated", "accent", points.map((p) => p.gpus)) },
    { title: "Waited", unit: `hours of all tasks together, by ${step}`, lines: one("Waited", "st-lost", points.map((p) => p.waited)) },
    { title: "Wait of a task", unit: "minutes on average", lines: one("Wait", "st-stopping", points.map((p) => minutes(meanWait(p)))) },
  ];
  return charts.filter(({ title }) => title !== "GPUs" || points.some((p) => p.gpus > 0));
}

const minutes = (ms: number | null) => (ms === null ? null : ms / 60_000);
