/** What a comparison of sub-clusters says, as rows of a table: a sub-cluster is a column. */
import type { Comparison } from "../../api/types";
import { RESOURCES } from "../../format/resources";
import { count, duration, many, percent, short } from "../../format/units";
import { hydractl } from "../../format/shell";

type Compared = Comparison["sub_clusters"][number];

export interface Cell {
  text: string;
  /** Of how much that is known, where little would mean little. */
  of?: string;
  /** Its part of the largest in its row; null where nothing was measured. */
  part: number | null;
}

export interface Row {
  name: string;
  /** What it is, where the name does not say it. */
  about?: string;
  /** A component's setting: the name is that of the document. */
  setting?: true;
  cells: Cell[];
}

export interface Group {
  name: string;
  rows: Row[];
}

export const WINDOWS = [{ s: 60, name: "1 min" }, { s: 300, name: "5 min" }, { s: 900, name: "15 min" }, { s: 3600, name: "1 h" }];
const WINDOW_S = 300;

/** What of the comparison stands in the address. No names: all sub-clusters. */
export interface Asked {
  names: string[];
  windowS: number;
}

export function fromSearch(search: string): Asked {
  const given = new URLSearchParams(search);
  const windowS = Number(given.get("window"));
  return { names: (given.get("names") ?? "").split(",").filter(Boolean), windowS: WINDOWS.some((w) => w.s === windowS) ? windowS : WINDOW_S };
}

export function toSearch({ names, windowS }: Asked): string {
  const given = new URLSearchParams();
  if (names.length) given.set("names", names.join(","));
  if (windowS !== WINDOW_S) given.set("window", String(windowS));
  const text = given.toString().replaceAll("%2C", ",");
  return text && `?${text}`;
}

interface Measure {
  name: string;
  about?: string;
  value: (c: Compared) => number | null;
  text: (value: number) => string;
  of?: (c: Compared) => string;
}

const seconds = (s: number) => duration(1000 * s);
const perSecond = (n: number) => `${short(n)} /s`;
const perMinute = (n: number) => `${short(n)} /min`;
const looked = (n: number, word: string) => (n > 0 ? `of ${many(n, word)}` : "");

const MEASURES: { name: string; measures: Measure[] }[] = [
  { name: "Waiting", measures: [
    { name: "First container, median", about: "from submit to a task's first container", value: (c) => c.allocation_latency_p50_s, text: seconds, of: (c) => looked(c.allocation_latency_count, "task") },
    { name: "First container, p99", value: (c) => c.allocation_latency_p99_s, text: seconds },
    { name: "Job's wait, median", about: "from submit to the job's first container, or until now", value: (c) => c.job_wait_p50_s, text: seconds, of: (c) => looked(c.jobs, "job") },
    { name: "Job's wait, p99", value: (c) => c.job_wait_p99_s, text: seconds },
    ...RESOURCES.map(({ axis, title, number }): Measure => ({ name: `${title} waited for now`, value: (c) => c.pending[axis], text: number })),
  ] },
  { name: "Work", measures: [
    { name: "Utilization now", about: "of the scarcest resource", value: (c) => c.utilization, text: (share) => percent(share, 1) },
    { name: "Containers started", value: (c) => c.allocations_per_s, text: perSecond },
    { name: "Containers ended", value: (c) => c.ended_per_s, text: perSecond, of: (c) => looked(c.ended, "container") },
    { name: "Failed", value: (c) => c.failures_per_min, text: perMinute },
    { name: "Preempted", value: (c) => c.preemptions_per_min, text: perMinute },
  ] },
  { name: "Rounds", measures: [
    { name: "Length, median", about: "planning and committing", value: (c) => c.round_p50_ms, text: duration, of: (c) => looked(c.round_count, "round") },
    { name: "Length, p99", value: (c) => c.round_p99_ms, text: duration },
  ] },
];

/** Components first, since they are what is compared; GPUs only where somebody waits for one. */
export function groupsOf(found: Comparison): Group[] {
  const settings = found.differs.map((d) => ({
    name: d.setting, setting: true as const, cells: found.sub_clusters.map((c) => ({ text: said(d.values[c.name]), part: null })),
  }));
  const version: Row = { name: "Policy version", cells: found.sub_clusters.map((c) => ({ text: String(c.components_version ?? "–"), part: null })) };
  const measured = MEASURES.map(({ name, measures }) => ({
    name, rows: measures.filter((m) => m.text !== count || found.sub_clusters.some((c) => m.value(c))).map((m) => rowOf(m, found.sub_clusters)),
  }));
  return [{ name: "Components", rows: [version, ...settings] }, ...measured];
}

function rowOf({ name, about, value, text, of }: Measure, subs: Compared[]): Row {
  const values = subs.map(value);
  const most = Math.max(0, ...values.map((v) => v ?? 0));
  const cells = subs.map((c, at) => {
    const v = values[at] ?? null;
    return { text: v === null ? "–" : text(v), of: of?.(c) || undefined, part: v === null ? null : most > 0 ? v / most : 0 };
  });
  return { name, about, cells };
}

function said(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(said).join(", ") || "none";
  if (typeof value === "object") return Object.entries(value).map(([name, one]) => `${name} ${said(one)}`).join(", ") || "none";
  return String(value);
}

/** "placement spread, preemption owed": the policies that are the same in all. */
export function alike(found: Comparison): string {
  const [first, ...others] = found.sub_clusters;
  const names = Object.keys(first?.policies ?? {}).filter((name) => others.every((c) => c.policies?.[name] === first?.policies?.[name]));
  return names.map((name) => `${name.replaceAll("_", " ")} ${first?.policies?.[name]?.replaceAll("_", " ")}`).join(", ");
}

export function commandOf({ names, windowS }: Asked): string {
  return hydractl("compare", ...names, ...(windowS === WINDOW_S ? [] : ["--window", `${windowS}s`]));
}
