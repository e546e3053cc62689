import { describe, expect, it } from "vitest";
import { ApiError } from "../../api/client";
import { clear, domain, few, inUseOverTime, mainRows, partRows } from "./model/answer";
import { doing, milestone, NO_TRACE, requestOf, simulateCommand, whatOf, windowWords, type Chosen } from "./model/asking";
import { change, number, value, verdict } from "./model/figures";
import { movedTo, renamed } from "./model/renamed";
import type { Compared, Estimate, Simulation, SimulationResult } from "./types";

const bare = (v: number | null): Estimate => ({ value: v, low: null, high: null, over: "", count: 1 });
const between = (v: number, low: number, high: number): Estimate => ({ value: v, low, high, over: "pairs of seeds", count: 3 });
const before = (v: number | null): Compared => ({ value: bare(v), change: null });
const after = (v: number | null, by: Estimate): Compared => ({ value: bare(v), change: by });

describe("figures", () => {
  it("have three digits and the unit that suits them", () => {
    expect([0, 0.0312, 4.25, 42.51, 1204.4].map((v) => number(v))).toEqual(["0", "0.031", "4.25", "42.5", "1,204"]);
    expect([7, 12.4].map((v) => number(v, true))).toEqual(["7", "12"]);
    expect([0.2, 1.5, 90, 252, 7200, 300_000].map((v) => value(v, "s"))).toEqual(["200 ms", "1.50 s", "90.0 s", "4.20 min", "2.00 h", "3.47 d"]);
    expect([value(0.813, "part"), value(1204, "count"), value(2.5, "core hours"), value(3, ""), value(null, "s"), value(0, "s")]).toEqual(["81.3 %", "1,204", "2.50 core h", "3.00", "–", "0 s"]);
  });
  it("change by signed amounts whose interval has the same unit", () => {
    expect(change(between(252, 60, 444), "s")).toEqual({ text: "+4.20 min", interval: "+1.00 to +7.40" });
    expect(change(between(-0.02, -0.03, 0.01), "part")).toEqual({ text: "−2.00 points", interval: "−3.00 to +1.00" });
    expect(change(between(0, 0, 0), "count")).toEqual({ text: "none", interval: "" });
    expect(change(bare(-6), "count")).toEqual({ text: "−6", interval: "" });
    expect([change(null, "s"), change(bare(null), "s")].map((c) => c.text)).toEqual(["–", "–"]);
  });
  it("are better or worse only where the interval leaves out 0", () => {
    expect(verdict(between(3, 1, 5), "lower")).toBe("worse");
    expect(verdict(between(-3, -5, -1), "lower")).toBe("better");
    expect(verdict(between(3, 1, 5), "")).toBe("higher");
    expect([verdict(between(3, -1, 5), "lower"), verdict(between(3, 0, 5), "lower")]).toEqual(["unclear", "unclear"]);
    expect([verdict(bare(3), "lower"), verdict(null, "lower"), verdict(between(0, 0, 0), "lower")]).toEqual(["", "", ""]);
  });
});

const figures = (wait: Compared) => ({ wait_mean_s: wait, turnaround_mean_s: after(60, bare(2)), share_held: after(0.1, bare(0)), preemptions: after(0, bare(0)) });
const queue = (name: string, wait: Compared) => ({ queue: name, figures: figures(wait) });
const user = (name: string, wait: Compared) => ({ user: name, figures: figures(wait) });
const periods = (values: number[]) => ({ period_s: 60, utilization: { memory_mib: values.map((v) => v / 2), vcores_milli: values }, fairness_error: [] });
const run = (policy: string, values: number[] | null) => ({ policy, periods: values && periods(values) });
const ABOUT = { title: "Wait, mean", unit: "s", better: "lower" };
const RESULT = {
  jobs: 5, containers: 9, nodes: 2,
  figures: { overall: { wait_mean_s: ABOUT, utilization_gpus: { title: "GPUs in use", unit: "part", better: "higher" } },
    by_queue: { wait_mean_s: ABOUT, turnaround_mean_s: { title: "Turnaround, mean", unit: "s", better: "lower" }, share_held: { title: "Share held", unit: "part", better: "" }, preemptions: { title: "Preempted containers", unit: "count", better: "lower" } } },
  comparison: { total_queues: 5, notes: [], policies: [
    { policy: "version 2, in force", seeds: [0, 1], figures: { wait_mean_s: before(30), utilization_gpus: before(null) }, queues: [queue("root.a", before(10)), queue("root.b", before(20)), queue("root.c", before(5)), queue("root.d", before(1))] },
    { policy: "proposed", seeds: [0, 1], figures: { wait_mean_s: after(20, between(-10, -12, -8)), utilization_gpus: after(null, bare(null)) }, queues: [
      queue("root.a", after(110, bare(100))), queue("root.b", after(15, between(-5, -6, -4))), queue("root.c", after(8, between(3, -400, 6))), queue("root.d", after(null, bare(null))), queue("root.e", after(9, between(9, 8, 10)))] },
  ] },
  runs: [run("version 2, in force", [0.5, 0.6]), run("version 2, in force", null), run("proposed", [0.7])],
} as unknown as SimulationResult;

describe("queues that are gone", () => {
  const before = { queues: { ads: {}, web: { children: { front: {}, back: {} } }, etl: {}, lab: {} } };
  const after = { queues: { ads: { children: { bids: {} } }, web: {}, prod: { children: { etl: {} } }, other: {} } };
  const found = renamed(before, after);
  it("go where their names suggest, or nowhere", () => {
    expect(found.leaves).toEqual(["root.ads.bids", "root.web", "root.prod.etl", "root.other"]);
    expect(found.gone).toEqual([
      { queue: "root.ads", guess: "root.ads.bids" }, { queue: "root.web.front", guess: "root.web" }, { queue: "root.web.back", guess: "root.web" },
      { queue: "root.etl", guess: "root.prod.etl" }, { queue: "root.lab", guess: "" },
    ]);
    expect(renamed(before, before).gone).toEqual([]);
  });
  it("go where it is said", () => {
    const queues = movedTo(found.gone, { "root.ads": " ", "root.lab": "root.other" });
    expect(queues).toEqual({ "root.web.front": "root.web", "root.web.back": "root.web", "root.etl": "root.prod.etl", "root.lab": "root.other" });
    expect(requestOf({ ...CHOSEN, queues }, { version: 7 })).toEqual({ version: 7, window: "hour", seeds: 3, queues });
    expect(simulateCommand({ ...CHOSEN, queues: { "root.etl": "root.prod.etl" } }, { version: 7 })).toBe("hydractl policy simulate 7 --queue root.etl=root.prod.etl");
  });
});

describe("an answer", () => {
  it("shows clear changes first, then the largest, then what cannot be said", () => {
    expect(partRows(RESULT, "queue", "wait_mean_s").map((row) => row.name)).toEqual(["root.e", "root.b", "root.a", "root.c", "root.d"]);
    expect(partRows(RESULT, "queue", "wait_mean_s")[0]?.figures.wait_mean_s.before).toBeUndefined();
  });
  it("tells how long jobs take by queue, too", () => {
    expect(partRows(RESULT, "queue", "turnaround_mean_s").map((row) => row.figures.turnaround_mean_s.about.title)).toContain("Turnaround, mean");
    expect(Object.keys(partRows(RESULT, "queue", "wait_mean_s")[0]?.figures ?? {})).toEqual(["wait_mean_s", "turnaround_mean_s", "share_held", "preemptions"]);
  });
  it("tells users like queues, and nothing of them where it is from before they were told apart", () => {
    const [old, later] = RESULT.comparison.policies;
    const told = { ...RESULT, figures: { ...RESULT.figures, by_user: RESULT.figures.by_queue }, comparison: { ...RESULT.comparison, policies: [
      { ...old, users: [user("ann", before(10)), user("(others)", before(2))] },
      { ...later, users: [user("ann", after(9, between(-1, -2, 1))), user("(others)", after(7, between(5, 4, 6)))] }] } } as unknown as SimulationResult;
    expect(partRows(told, "user", "wait_mean_s").map((row) => [row.name, row.figures.wait_mean_s.before?.value.value])).toEqual([["(others)", 2], ["ann", 10]]);
    expect(partRows(RESULT, "user", "wait_mean_s")).toEqual([]);
  });
  it("leaves out figures of which nothing is known", () => expect(mainRows(RESULT).map((row) => row.name)).toEqual(["wait_mean_s"]));
  it("says what is clear, and whether anything could be", () => {
    expect(clear(RESULT)).toEqual({ better: ["Wait, mean −10.0 s"], worse: [], less: ["root.b −5.00 s"], longer: ["root.e +9.00 s"], told: true });
    expect(clear({ ...RESULT, comparison: { ...RESULT.comparison, policies: [] } })).toMatchObject({ better: [], told: false });
  });
  it("is drawn on one scale with 0 in it, which a very long interval does not stretch", () => {
    const rows = partRows(RESULT, "queue", "wait_mean_s").map((row) => row.figures.wait_mean_s);
    const [low, high] = domain(rows.filter((row) => row.after.value.value !== 110));
    expect([low < -18 && low > -20, high > 10 && high < 12]).toEqual([true, true]);
    expect(domain([])).toEqual([-1, 1]);
  });
  it("has the busiest resource over time, of both", () => {
    expect(inUseOverTime(RESULT, 1000)).toMatchObject({ resource: "vcores_milli", at: [1000, 1060], stepS: 60, lines: [{ values: [0.5, 0.6] }, { values: [0.7, null] }] });
    expect(inUseOverTime({ ...RESULT, runs: [] }, 0)).toBeNull();
  });
  it("names a few", () => expect([few(["a", "b"]), few(["a", "b", "c"], 1)]).toEqual(["a, b", "a and 2 more"]));
});

const CHOSEN: Chosen = { window: "hour", from: "", to: "", seeds: "3", trace: NO_TRACE, queues: {} };

describe("a question", () => {
  it("is the window or the span, and the document or the version", () => {
    expect(requestOf(CHOSEN, { version: 7 })).toEqual({ version: 7, window: "hour", seeds: 3 });
    const span = { ...CHOSEN, window: "span", from: "2026-03-01T08:00", to: "2026-03-01T09:00" } as const;
    expect(requestOf(span, { document: {} })).toEqual({ document: {}, from: new Date("2026-03-01T08:00").toISOString(), to: new Date("2026-03-01T09:00").toISOString(), seeds: 3 });
    expect(simulateCommand({ ...CHOSEN, window: "week", seeds: "5" }, { document: {} })).toBe("hydractl policy simulate policy.yaml --last week --seeds 5");
    expect(simulateCommand(span, { version: 7 })).toMatch(/^hydractl policy simulate 7 --from 2026-\S+Z --to 2026-\S+Z$/);
  });
  it("may be of a trace, handed in before or now", () => {
    const kept = { ...CHOSEN, window: "trace", trace: { ...NO_TRACE, kept: 4, ownNodes: true } } as const;
    expect(requestOf(kept, { version: 7 })).toEqual({ version: 7, trace: 4, nodes: "trace", seeds: 3 });
    expect(simulateCommand(kept, { version: 7 })).toBe("hydractl policy simulate 7 --trace 4 --own-nodes");
    const file = { ...NO_TRACE, file: new File(["x"], "nasa.swf"), kind: "swf", options: '{"queue": "root.a", "memory_mib": 7}' };
    expect(requestOf({ ...CHOSEN, window: "trace", trace: file }, { version: 7 })).toEqual({ version: 7, trace: null, nodes: "fleet", seeds: 3 });
    expect(simulateCommand({ ...CHOSEN, window: "trace", trace: file }, { version: 7 })).toBe("hydractl policy simulate 7 --trace nasa.swf --workload swf --option queue=root.a --option memory_mib=7");
    const nodes = { ...file, options: "", ownNodes: true, nodes: new File(["x"], "topology.json") };
    expect(simulateCommand({ ...CHOSEN, window: "trace", trace: nodes }, { version: 7 })).toMatch(/--workload swf --cluster topology.json$/);
  });
  it("that is wrong names the fields", () => {
    const fields = (more: Partial<Chosen>) => { const asked = requestOf({ ...CHOSEN, ...more }, { version: 1 }); return asked instanceof ApiError ? asked.errors.map((e) => e.field) : []; };
    expect([fields({ seeds: "" }), fields({ seeds: "11" }), fields({ seeds: "1.5" })]).toEqual([["seeds"], ["seeds"], ["seeds"]]);
    expect([fields({ window: "trace" }), fields({ window: "trace", trace: { ...NO_TRACE, kept: 1 } }), fields({ window: "trace", trace: { ...NO_TRACE, options: "[]" } })]).toEqual([["trace"], [], ["trace", "options"]]);
    expect(fields({ window: "span", from: "", to: "" })).toEqual(["from", "to"]);
    expect(fields({ window: "span", from: "2026-03-01T08:00", to: "2026-03-01T08:00", seeds: "0" })).toEqual(["to", "seeds"]);
  });
});

const at = (more: Partial<Simulation>) => ({ id: 4, kind: "policy", state: "running", message: "", progress: 0, simulated_s: 0, from: "2026-03-01T08:00:00", to: "2026-03-01T09:00:00", version: null, change: "nothing changes", seeds: 3, ...more }) as Simulation;

describe("how far it is", () => {
  it("is said as it goes", () => {
    expect([at({ state: "queued" }), at({}), at({ progress: 0.2, simulated_s: 900 }), at({ progress: 0.9, simulated_s: 4000 }), at({ progress: 0.99 })].map(doing)).toEqual([
      "Waits for a free runner; two simulations run at a time", "Reads the history of the window", "Simulated 15 min of 1 h", "Simulated the window of 1 h; what came last is seen to its end", "Compares the runs",
    ]);
  });
  it("is told at milestones only", () => {
    expect([at({ progress: 0.26 }), at({ progress: 0.49 })].map(milestone)).toEqual(["Simulation 4: 25 % done", "Simulation 4: 25 % done"]);
    expect([at({}), at({ progress: 0.1 }), at({ state: "done" }), at({ state: "cancelled" }), at({ state: "failed" })].map(milestone)).toEqual([
      "Simulation 4 reads the history", "Simulation 4 is being simulated", "Simulation 4 is done", "Simulation 4 is cancelled", "Simulation 4 failed",
    ]);
  });
  it("and what it asks, whatever its kind", () => {
    expect([at({}), at({ version: 13 }), at({ kind: "drain", sub_cluster: "west" })].map(whatOf)).toEqual(["nothing changes", "Version 13", "west drained"]);
    expect(windowWords(at({}))).toBe("1 Mar 2026, 08:00:00 to 09:00:00 (1 h)");
    expect(windowWords(at({ trace_name: "nasa.swf", own_nodes: true }))).toBe("the trace nasa.swf (1 h) on its own nodes");
    expect(doing(at({ trace_name: "nasa.swf" }))).toBe("Reads the trace");
    expect(windowWords(at({ to: "2026-03-02T08:00:00" }))).toBe("1 Mar 2026, 08:00:00 to 2 Mar 2026, 08:00:00 (1 d)");
  });
});
