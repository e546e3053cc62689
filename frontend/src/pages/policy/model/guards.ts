/** A rollout's guards: what each allows, what it saw before the push and sees now. The server decides; this only shows. */
import type { Measures, Rollout } from "../types";

export interface GuardRow {
  name: string;
  label: string;
  limit: string;
  before: string;
  now: string;
  /** How much of the limit is used up, 0 and more; null where nothing can be said yet. */
  part: number | null;
}

export interface GuardKind {
  name: string;
  label: string;
  hint: string;
  /** A share is typed in hundredths. */
  percent: boolean;
}

export const GUARDS: readonly GuardKind[] = [
  { name: "pending_p99_s", label: "Jobs wait at most, s", hint: "99 % of the jobs that come", percent: false },
  { name: "failures_per_min", label: "Failures a minute", hint: "containers that fail", percent: false },
  { name: "failure_share", label: "Failing, %", hint: "of the containers that end", percent: true },
  { name: "allocation_rate_drop", label: "Fewer allocations, %", hint: "than before the push", percent: true },
  { name: "utilization_drop", label: "Less utilization, %", hint: "than before the push", percent: true },
];

const rate = (value: number): string => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
const percent = (value: number): string => `${rate(100 * value)} %`;
const share = (m: Measures): number | null => (m.ended ? m.failed / m.ended : null);
const drop = (before: number | null | undefined, now: number | null | undefined): number | null =>
  before && now !== null && now !== undefined ? Math.max(0, 1 - now / before) : null;

/** The guards of the stage it is in. */
export function guardRows(rollout: Rollout): GuardRow[] {
  const before = rollout.baseline[String(rollout.stage)]?.staged;
  const now = rollout.metrics.stages?.[rollout.stage]?.staged;
  return GUARDS.filter((kind) => rollout.guards[kind.name] !== undefined && rollout.guards[kind.name] !== null).map((kind) => row(kind, rollout.guards[kind.name]!, before, now));
}

function row(kind: GuardKind, limit: number, before: Measures | undefined, now: Measures | undefined): GuardRow {
  const made = (limitWord: string, was: string | null, is: string | null, value: number | null): GuardRow => ({
    name: kind.name, label: kind.label.replace(/, (s|%)$/, ""), limit: limitWord, before: was ?? "–", now: is ?? "–", part: value === null ? null : value / limit,
  });
  const told = <T,>(value: T | null | undefined, word: (v: T) => string): string | null => (value === null || value === undefined ? null : word(value));
  const seconds = (s: number) => `${rate(s)} s`;
  switch (kind.name) {
    case "pending_p99_s":
      return made(`${limit} s`, told(before?.pending_p99_s, seconds), told(now?.pending_p99_s, seconds), now?.pending_p99_s ?? null);
    case "failures_per_min": {
      const of = (m: Measures | undefined) => (m ? (share(m) ?? 0) * m.ended_per_min : null);
      return made(`${limit} a minute`, told(of(before), rate), told(of(now), rate), of(now));
    }
    case "failure_share": {
      const of = (m: Measures | undefined) => (m ? share(m) : null);
      return made(percent(limit), told(of(before), percent), told(of(now), percent), of(now));
    }
    case "allocation_rate_drop": {
      const missing = drop(before?.allocations_per_s, now?.allocations_per_s);
      return made(`${percent(limit)} fewer`, told(before?.allocations_per_s, (v) => `${rate(v)} a second`), told(now?.allocations_per_s, (v) => `${rate(v)} a second`), now?.waits ? missing : null);
    }
    default: {
      const missing = drop(before?.utilization, now?.utilization);
      return made(`${percent(limit)} less`, told(before?.utilization, percent), told(now?.utilization, percent), now?.waits ? missing : null);
    }
  }
}

/** Guards as people type them, as the API takes them: undefined for one that is left out; null for what is no number above 0. */
export function guardsFrom(fields: Record<string, string>): Record<string, number> | null {
  const found: Record<string, number> = {};
  for (const kind of GUARDS) {
    const text = fields[kind.name]?.trim();
    if (!text) continue;
    const number = Number(text.replace(/ ?%$/, "")) / (kind.percent ? 100 : 1);
    if (!(number > 0) || !Number.isFinite(number) || (kind.percent && number > 1)) return null;
    found[kind.name] = number;
  }
  return found;
}
