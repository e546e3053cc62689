import { describe, expect, it } from "vitest";
import { byQueue, byTag, command, meanWait, overTime, percent, shownOf, shownQuery, spent, type UsedHours, type UsedTags } from "./ledger";

const GIB_HOUR = 1024 * 3600;
const CORE_HOUR = 3_600_000;
const used = (hours: number, part: number) => ({
  containers: 2, failed: 1, memory_mib_s: hours * GIB_HOUR, vcores_milli_s: 2 * hours * CORE_HOUR, gpu_s: 0,
  cpu_ms: part * 2 * hours * CORE_HOUR, peak_memory_mib_s: part * hours * GIB_HOUR, tasks: 2, waited_s: 1800 * hours,
});
const found: UsedHours = {
  begin: "2026-05-01T10:20:00Z", end: "2026-05-01T13:20:00Z", step: "hour", complete: true,
  results: [
    { at: "2026-05-01T10:00:00Z", queue: "root.a", ...used(2, 0.5) },
    { at: "2026-05-01T12:00:00Z", queue: "root.a", ...used(1, 2) },
    { at: "2026-05-01T12:00:00Z", queue: "root.b", ...used(5, 0) },
  ],
};

describe("what was used", () => {
  it("is what was allocated, used and wasted, as far as it was measured", () => {
    const all = spent(found.results);
    expect(all.memory).toEqual({ held: 8, measured: 3, used: 3, wasted: 1 });
    expect(all.cores).toEqual({ held: 16, measured: 6, used: 6, wasted: 2 });
    expect([all.containers, all.failed, all.waited, meanWait(all)]).toEqual([6, 3, 4, (4 * 3_600_000) / 6]);
    expect(spent([]).cores).toEqual({ held: 0, measured: 0, used: null, wasted: null });
    expect(meanWait(spent([]))).toBeNull();
  });
  it("is in percent of what was measured, not of all that was held", () => {
    const { memory } = spent(found.results);
    expect([percent(memory.used, memory), percent(memory.wasted, memory)]).toEqual([100, 33]);
    const [unmeasured] = byQueue(found);
    expect(percent(unmeasured!.spent.memory.used, unmeasured!.spent.memory)).toBeNull();
  });
  it("is told by queue, what held most first", () => {
    expect(byQueue(found).map(({ key, spent: s }) => [key, s.cores.held, s.cores.wasted])).toEqual([["root.b", 10, null], ["root.a", 6, 2]]);
  });
  it("is told by tag over all queues, the others and what has none last", () => {
    const tags = ["", "(others)", "etl", "etl", "idle"].map((tag, i) => ({ tag, queue: `root.${i}`, ...used([9, 1, 2, 2, 0][i]!, 0.5) }));
    const all: UsedTags = { begin: found.begin, end: found.end, complete: true, results: tags };
    expect(byTag(all).map(({ key, spent: s }) => [key, s.containers, s.memory.held])).toEqual([["etl", 4, 4], ["idle", 2, 0], ["(others)", 2, 1], ["", 2, 9]]);
  });
});

describe("use over time", () => {
  it("has a point for every hour, also for those without", () => {
    const { at, stepS, charts } = overTime(found, "");
    expect([stepS, at.length, at[0]]).toEqual([3600, 4, Date.parse("2026-05-01T10:00:00Z") / 1000]);
    expect(charts.map((c) => c.title)).toEqual(["Memory", "Cores", "Waited", "Wait of a task"]);
    expect(charts[0]!.lines.map((l) => l.values)).toEqual([[2, 0, 6, 0], [1, null, 2, null], [1, null, 0, null]]);
    expect(charts[2]!.lines[0]!.values).toEqual([1, 0, 3, 0]);
    expect(charts[3]!.lines[0]!.values).toEqual([30, null, 45, null]);
  });
  it("is of one queue where one is chosen, and of GPUs where there are any", () => {
    const gpus = { ...found, results: found.results.map((row) => ({ ...row, gpu_s: 7200 })) };
    const { charts } = overTime(gpus, "root.a");
    expect(charts.find((c) => c.title === "GPUs")!.lines[0]!.values).toEqual([2, 0, 2, 0]);
    expect(charts[0]!.lines[0]!.values).toEqual([2, 0, 1, 0]);
  });
});

it("what is shown stands in the address", () => {
  const shown = { days: 30, owner: "ada", queue: "root.a", tag: "release" };
  expect(shownOf(shownQuery(shown))).toEqual(shown);
  expect([shownQuery({ days: 7, owner: "", queue: "", tag: "" }), shownOf("?days=8").days]).toEqual(["", 7]);
  expect(command(shown, "--csv")).toBe("hydractl usage --csv --days 30 --owner ada --queue root.a");
  expect(command({ ...shown, owner: "", queue: "", tag: "" }, "--by-tag")).toBe("hydractl usage --by-tag --days 30");
});
