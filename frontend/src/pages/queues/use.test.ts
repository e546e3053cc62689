import { expect, it } from "vitest";
import type { SeriesEvent } from "../../charts/series";
import { bars, byTag, linePath, MEASURES, policyMarks, sums } from "./use";
import type { UsedHours, UsedTags } from "./types";

const row = (at: string, queue: string, hours: number) => ({ at, queue, containers: 1, memory_mib_s: hours * 1024 * 3600, vcores_milli_s: hours * 2000 * 3600, gpu_s: 0 }) as UsedHours["results"][number];
const found: UsedHours = {
  begin: "2026-05-01T10:20:00Z", end: "2026-05-01T13:20:00Z", step: "hour", complete: true,
  results: [row("2026-05-01T10:00:00Z", "root.a", 2), row("2026-05-01T12:00:00Z", "root.a", 1), row("2026-05-01T12:00:00Z", "root.b", 5)],
};

it("has a bar for every hour, also for those without use", () =>
  expect(bars(found, MEASURES[0].of).map((b) => b.total)).toEqual([2, 0, 6, 0]));
it("sums per queue", () => expect(sums(found).map((s) => [s.queue, s.memory, s.cores])).toEqual([["root.b", 5, 10], ["root.a", 3, 6]]));
it("sums per tag, the others and what has none last, with what was used of what was asked, and the wait", () => {
  const tagged = (tag: string, queue: string, hours: number, cpu: number) => ({ tag, queue, containers: 2, failed: 1, cpu_ms: cpu * 3_600_000, tasks: 2, waited_s: 3 * hours, peak_memory_mib_s: 1024 * 3600 * hours, memory_mib_s: 2048 * 3600 * hours, vcores_milli_s: hours * 1000 * 3600, gpu_s: 0 });
  const all: UsedTags = { begin: "2026-05-01T10:20:00Z", end: "2026-05-02T10:20:00Z", complete: true, results: [tagged("", "root.a", 9, 1), tagged("(others)", "root.c", 1, 1), tagged("etl", "root.a", 2, 1), tagged("etl", "root.b", 2, 2), tagged("idle", "root.a", 0, 0)] };
  expect(byTag(all).map((t) => [t.tag, t.containers, t.failed, t.cores, t.used])).toEqual([["etl", 4, 2, 4, 0.75], ["idle", 2, 1, 0, null], ["(others)", 2, 1, 1, 1], ["", 2, 1, 9, 1 / 9]]);
  expect(byTag(all).map((t) => [t.memory, t.taken, t.wait])).toEqual([[8, 0.5, 3_000], [0, null, 0], [2, 0.5, 1_500], [18, 0.5, 13_500]]);
});
it("marks what changed the policy, where it lies on the line", () => {
  const event = (at: string, kind: string, id: number) => ({ at, kind, id, text: "" }) as SeriesEvent;
  const events = [event("1970-01-01T00:00:50Z", "policy", 1), event("1970-01-01T00:01:50Z", "policy", 2), event("1970-01-01T00:02:00Z", "sub-cluster", 3), event("1970-01-01T00:02:09Z", "override", 4), event("1970-01-01T00:02:10Z", "policy", 5)];
  expect(policyMarks([100, 110, 120], events).map((m) => [m.event.id, m.x])).toEqual([[2, 50], [4, 100]]);
  expect(policyMarks([], events)).toEqual([]);
});
it("draws a line with gaps", () => expect(linePath([0, 1, null, 1], 1)).toBe("M0.0 96.0L33.3 4.0M100.0 4.0"));
