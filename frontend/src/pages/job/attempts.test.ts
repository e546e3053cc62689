import { describe, expect, it } from "vitest";
import { linksOf, pointer } from "../../format/reason";
import type { Container, Job, JobEvent } from "../../api/types";
import { colourOf, hit, layout, pan, readZoom, writeZoom, x, zoom } from "./gantt";
import { attemptOf, attemptsPath } from "./params";
import { mayAct } from "./rights";
import { shorten, story } from "./story";

const T0 = Date.UTC(2026, 0, 1);
const iso = (s: number) => new Date(T0 + s * 1000).toISOString();
const attempt = (more: Partial<Container>) => ({
  id: "c", group: "map", index: 0, attempt: 1, sub_cluster: "west", state: "SUCCEEDED", reason: null, allocated_at: iso(1), started_at: iso(2), finished_at: iso(5),
  peak_memory_mib: 100, cpu_ms: 1500, memory_mib: 1024, ...more,
}) as Container;

describe("the Gantt chart", () => {
  const g = layout([attempt({ id: "b", index: 1, allocated_at: iso(2), finished_at: null, state: "RUNNING", sub_cluster: "east" }), attempt({ id: "a" }), attempt({ id: "a2", attempt: 2, allocated_at: iso(6), started_at: null, finished_at: iso(7), state: "FAILED" })], T0, T0 + 9_000);
  it("has a row per task, in the order in which they began, and ends now", () => {
    expect([g.rows, g.bars.map((b) => b.row), g.from - T0, g.to - T0]).toEqual([["map/0", "map/1"], [0, 1, 0], 0, 9_000]);
    expect(g.bars[1]).toMatchObject({ open: true, to: T0 + 9_000 });
  });
  it("colours by state or sub-cluster", () => {
    expect(g.bars.map((b) => colourOf(b, "state", g.subClusters))).toEqual(["--st-succeeded", "--st-running", "--st-failed"]);
    expect(g.bars.map((b) => colourOf(b, "sub-cluster", g.subClusters))).toEqual(["--gantt-1", "--gantt-0", "--gantt-1"]);
  });
  it("zooms and moves within all there is", () => {
    const all = { from: 0, to: 1000 };
    const near = zoom(all, all, 0.5, 0);
    expect([near, pan(near, all, 900), zoom(near, all, 9)]).toEqual([{ from: 0, to: 500 }, { from: 500, to: 1000 }, all]);
  });
  it("keeps its zoom in the address", () => {
    const all = { from: 100, to: 1100 };
    expect(writeZoom(all, all)).toBe("");
    expect(readZoom(writeZoom({ from: 200, to: 300 }, all), all)).toEqual({ from: 200, to: 300 });
    for (const odd of [null, "x", "5-4", "1-2"]) expect(readZoom(odd, all)).toBe(all);
  });
  it("finds the bar under the pointer", () => {
    const span = { from: g.from, to: g.to };
    expect(hit(g, span, 900, x(T0 + 3_000, span, 900), 0)?.attempt.id).toBe("a");
    expect(hit(g, span, 900, x(T0 + 6_500, span, 900), 0)?.attempt.id).toBe("a2");
    expect(hit(g, span, 900, 10, 1)).toBeUndefined();
  });
  it("holds ten thousand attempts", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => attempt({ id: `${i}`, index: i }));
    expect(layout(many, T0, T0).rows).toHaveLength(10_000);
  });
});

describe("a job's story", () => {
  const job = { owner: "ada", queue: "root.a", retry_of: null, submitted_at: iso(0), admitted_at: iso(3), started_at: iso(4), finished_at: iso(9), state: "SUCCEEDED", groups: [] } as unknown as Job;
  const event = (s: number, kind: string, message = "m") => ({ id: s, at: iso(s), kind, message }) as JobEvent;
  it("tells rows and events in order", () => {
    const steps = story(job, [event(0, "routed", "to west by locality"), event(6, "retry"), event(7, "odd_kind")]);
    expect(steps.map((s) => s.title)).toEqual(["Submitted", "Routed", "Admitted", "First container", "Tried again", "Odd kind", "Succeeded"]);
    expect(steps[2]?.text).toBe("3.0 s after it was submitted");
  });
  it("calls a restart that somebody asked for by its name", () => {
    const steps = story(job, [event(5, "restarting", "web/0 was stopped to start again, as ann asked"), event(6, "restarting", "web/1 was stopped to start again, as was asked")]);
    expect(steps.slice(3, 5).map((s) => [s.title, s.text, s.kind])).toEqual([
      ["Restarted, as ann asked", "web/0 was stopped to start again", "change"],
      ["Restarted, as was asked", "web/1 was stopped to start again", "change"],
    ]);
  });
  it("is cut in its middle", () => {
    const { head, hidden, tail } = shorten(story(job, Array.from({ length: 50 }, (_, i) => event(5, "retry", `${i}`))), 12);
    expect([head.length, hidden, tail.length]).toEqual([6, 42, 6]);
    expect(tail.at(-1)?.title).toBe("Succeeded");
  });
});

describe("links of a limit", () => {
  it("lead to the queue, its line in the policy, and the nodes", () => {
    expect(linksOf({ limit: "max_running_jobs", queue: "root.prod.etl" }, true).map((l) => l.href)).toEqual([
      "/queues?queue=root.prod.etl", "/policy/edit?at=%2Fqueues%2Fprod%2Fchildren%2Fetl%2Fmax_running_jobs",
    ]);
    expect(linksOf({ limit: "max_running_jobs", queue: "root.prod" }, false)).toHaveLength(1);
    expect(linksOf({ limit: "no_room", queue: null }, true)).toEqual([{ href: "/fleet", text: "the nodes" }]);
  });
  it("spell a queue as a JSON pointer", () => expect([pointer("root"), pointer("root.a", "maximum"), pointer("root.a/b")]).toEqual(["/queues", "/queues/a/maximum", "/queues/a~1b"]));
});

describe("the attempt that is looked at", () => {
  const list = [60, 59, 58].map((attempt) => ({ id: `c-1-1-${attempt}`, attempt }) as Container);
  it("is asked for newest first", () => expect(attemptsPath(7, "web/0")).toBe("/jobs/7/containers?task=web%2F0&order=newest"));
  it("is the current one, which is never replaced by another", () => {
    expect(attemptOf(list, null, "c-1-1-60")).toEqual({ id: "c-1-1-60", listed: list[0] });
    expect(attemptOf(list, null, "c-1-1-61")).toEqual({ id: "c-1-1-61", listed: undefined });
  });
  it("is the one that an address names, also beyond those listed", () => {
    expect(attemptOf(list, "c-1-1-58", "c-1-1-60").listed).toBe(list[2]);
    expect(attemptOf(list, "c-1-1-3", "c-1-1-60")).toEqual({ id: "c-1-1-3", listed: undefined });
  });
  it("is the newest where none is known, and none where there are none", () => {
    expect([attemptOf(list, null, undefined).id, attemptOf([], null, null).id]).toEqual(["c-1-1-60", null]);
  });
});

it("lets those act whom the server lets", () => {
  const job = { owner: "ada", queue: "root.prod.etl" };
  const me = (username: string, role: string, path = "", level = "admin") => ({ username, role, queues: path ? [{ path, level }] : [] }) as never;
  expect([me("x", "operator"), me("ada", "tenant"), me("bob", "tenant"), me("bob", "tenant", "root.prod"), me("bob", "tenant", "root.prod", "submit"), me("bob", "tenant", "root.pro"), me("ada", "viewer"), me("bob", "viewer", "root.prod")].map((m) => mayAct(job, m)))
    .toEqual([true, true, false, true, false, false, false, false]);
});
