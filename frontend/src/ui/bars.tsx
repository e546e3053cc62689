/** Bars drawn as SVG: amounts of a capacity, and how far a group's tasks are. */
import type { Group } from "../api/types";
import { tone, word } from "../format/states";
import { count, percent } from "../format/units";

/** Allocated as fill, used as a darker line inside it. `hatched` marks values that are old. */
export function Meter({ label, allocated, used, capacity, describe }: {
  label: string; allocated: number; used?: number; capacity: number; describe: (n: number) => string;
}) {
  const width = (n: number) => `${capacity > 0 ? Math.min(100, (100 * n) / capacity) : 0}%`;
  const text = `${label}: ${describe(allocated)} of ${describe(capacity)} allocated (${percent(allocated, capacity)})${used === undefined ? "" : `, ${describe(used)} used`}`;
  return (
    <div className="meter" role="img" aria-label={text} title={text}>
      <svg preserveAspectRatio="none" aria-hidden="true">
        <rect width={width(allocated)} height="100%" fill="var(--heat-1)" />
        {used !== undefined && <rect width={width(used)} y="3" height="2" fill="var(--used)" />}
      </svg>
    </div>
  );
}

const ORDER = ["succeeded", "running", "failed", "killed", "pending"] as const;
const STATE_OF = { succeeded: "SUCCEEDED", running: "RUNNING", failed: "FAILED", killed: "KILLED", pending: "PENDING" } as const;

export function groupText(group: Pick<Group, (typeof ORDER)[number] | "count">): string {
  const parts = ORDER.filter((key) => group[key] > 0).map((key) => `${count(group[key])} ${word(STATE_OF[key]).toLowerCase()}`);
  return `${count(group.count)} tasks: ${parts.join(", ") || "none started"}`;
}

export function TasksBar({ group }: { group: Pick<Group, (typeof ORDER)[number] | "count"> }) {
  let at = 0;
  const total = Math.max(1, group.count);
  return (
    <svg className="tasks-bar" role="img" aria-label={groupText(group)} preserveAspectRatio="none">
      {ORDER.filter((key) => key !== "pending" && group[key] > 0).map((key) => {
        const x = at;
        at += (100 * group[key]) / total;
        return <rect key={key} x={`${x}%`} width={`${at - x}%`} height="100%" fill={`var(--st-${tone(STATE_OF[key])})`} />;
      })}
    </svg>
  );
}

/** How far tasks are: a service is kept running, all others are to get done. */
export function progressText(kind: string, group: Pick<Group, "count" | "running" | "succeeded">): string {
  return kind === "service" ? `${count(group.running)} of ${count(group.count)} running` : `${count(group.succeeded)} of ${count(group.count)} done`;
}

/** Sums of several groups, for a job's one bar. */
export function sumGroups(groups: Group[]) {
  const total = { count: 0, pending: 0, running: 0, succeeded: 0, failed: 0, killed: 0 };
  for (const g of groups) for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += g[key];
  return total;
}
