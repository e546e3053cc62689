/** What attempts used beside what they asked for, per group, and the size that would have done. Pure. */
import type { Container, Group } from "../../api/types";

export interface GroupUsage {
  group: string;
  /** Attempts that ended with measurements. */
  measured: number;
  askedMib: number;
  peakMib: number;
  p95Mib: number;
  /** Cores one attempt was busy with on average while it ran, in thousandths; p95 over attempts. */
  askedMilli: number;
  meanMilli: number;
  p95Milli: number;
  hint: Hint | null;
}

export interface Hint {
  memory_mib?: number;
  vcores_milli?: number;
  text: string;
}

const HEADROOM = 1.25;
const FEW = 3;

export function percentile(values: number[], share: number): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? 0;
}

/** Cores an attempt was busy with, in thousandths, averaged over its run; null when it ran too shortly to tell. */
export function busyMilli(a: Container): number | null {
  if (!a.started_at || !a.finished_at || !a.cpu_ms) return null;
  const ran = Date.parse(a.finished_at) - Date.parse(a.started_at);
  return ran >= 500 ? (1000 * a.cpu_ms) / ran : null;
}

export function usage(groups: Group[], attempts: Container[]): GroupUsage[] {
  return groups.map((g) => {
    const mine = attempts.filter((a) => a.group === g.name && a.finished_at !== null);
    const peaks = mine.flatMap((a) => (a.peak_memory_mib ? [a.peak_memory_mib] : []));
    const busy = mine.flatMap((a) => busyMilli(a) ?? []);
    const found: GroupUsage = {
      group: g.name, measured: peaks.length, askedMib: g.resources.memory_mib, peakMib: peaks.reduce((a, b) => Math.max(a, b), 0), p95Mib: percentile(peaks, 0.95),
      askedMilli: g.resources.vcores_milli, meanMilli: busy.length ? busy.reduce((a, b) => a + b, 0) / busy.length : 0, p95Milli: percentile(busy, 0.95), hint: null,
    };
    return { ...found, hint: hint(found, busy.length, mine.filter((a) => a.reason === "MEMORY").length) };
  });
}

function roundUp(n: number, to: number): number {
  return Math.ceil(n / to) * to;
}

/** Only where enough was measured and the difference is worth a change. */
function hint(u: GroupUsage, busy: number, overMemory: number): Hint | null {
  if (overMemory > 0) {
    const more = roundUp(u.askedMib * 1.5, 64);
    return { memory_mib: more, text: `${overMemory} ${overMemory === 1 ? "attempt" : "attempts"} ran out of memory: ask for ${more} MiB` };
  }
  if (u.measured < FEW) return null;
  const memory = Math.max(32, roundUp(u.peakMib * HEADROOM, 32));
  const cores = Math.max(50, roundUp(u.p95Milli * HEADROOM, 50));
  const wanted: Hint = { text: "" };
  const parts: string[] = [];
  if (memory <= u.askedMib * 0.75) {
    wanted.memory_mib = memory;
    parts.push(`${memory} MiB instead of ${u.askedMib}`);
  }
  if (busy >= FEW && cores <= u.askedMilli * 0.75) {
    wanted.vcores_milli = cores;
    parts.push(`${cores} thousandths of a core instead of ${u.askedMilli}`);
  }
  if (parts.length === 0) return null;
  return { ...wanted, text: `${parts.join(" and ")} would have done, with a quarter to spare` };
}
