import { describe, expect, it } from "vitest";
import type { Group, Job } from "../../api/types";
import { valuesText } from "./arrays";
import { CARD, dag, depths, edgePath } from "./dag";
import { declares, healthState, pageOf } from "./Endpoints";
import { append, cut, EMPTY, KEEP_LINES, matches } from "./log";
import { logAddress, taskNamed } from "./params";
import { isPriority } from "./priority";
import { became, rolloutText } from "./rollout";
import { story } from "./story";
import { place, placeLanes, ticks, timeline } from "./timeline";

const part = (data: string, more = {}) => ({ stream: "stdout" as const, data, offset: 0, skipped: 0, at: null, ...more });
const page = (next: string, ...pieces: ReturnType<typeof part>[]) => ({ pieces, next, complete: false });
const read = (...pieces: ReturnType<typeof part>[]) => append(EMPTY, page("next", ...pieces), "");

describe("a log", () => {
  it("joins lines that were cut between pieces", () => {
    const log = append(append(EMPTY, page("6.0", part("one\ntw")), ""), page("14.0", part("o\nthree\n")), "6.0");
    expect(log).toMatchObject({ lines: ["one", "two", "three"], cursor: "14.0" });
  });
  it("takes the same piece in once", () => {
    const once = read(part("one\n"));
    expect(append(once, page("next", part("one\n")), "")).toBe(once);
  });
  it("ends without changing its lines", () => {
    const log = append(read(part("one\n")), { ...page("4.0"), complete: true }, "next");
    expect(log).toMatchObject({ lines: ["one"], complete: true });
  });
  it("says what was not kept", () => {
    const log = read(part("a\nhalf"), part("z\n", { skipped: 1000 }));
    expect(log.lines).toEqual(["a", "half", "··· 1,000 bytes were not kept ···", "z"]);
    expect(log.skipped).toBe(1000);
  });
  it("keeps the lines of both streams whole, and each where it began", () => {
    const log = read(part("one\nt"), part("bad\nwor", { stream: "stderr" }), part("wo\nthree"), part("se\n", { stream: "stderr" }), part("\n"));
    expect(log.lines).toEqual(["one", "two", "bad", "worse", "three"]);
    expect(log.onStderr).toEqual([false, false, true, true, false]);
  });
  it("is bounded, and goes on with the line it was in", () => {
    const log = append(read(part(`${"x\n".repeat(KEEP_LINES + 10)}op`)), page("later", part("en\n\n")), "next");
    expect([log.lines.length, log.trimmed, log.onStderr.length]).toEqual([KEEP_LINES, 12, KEEP_LINES]);
    expect(log.lines.slice(-3)).toEqual(["x", "open", ""]);
  });
  it("drops what would steer a terminal", () => expect(read(part("\u001b[31mred\u001b[0m\r\n")).lines).toEqual(["red"]));
  it("finds text", () => {
    expect(matches(["Alpha", "beta", "ALPHABET"], "alpha")).toEqual([0, 2]);
    expect(cut("xAyAz", "a")).toEqual(["x", "A", "y", "A", "z"]);
  });
});

const group = (name: string, after: string[] = [], more: Partial<Group> = {}) => ({ no: name.charCodeAt(0), name, after, started_at: null, finished_at: null, ...more }) as Group;

describe("a rollout", () => {
  const rollout = { revision: 3, previous: 2, updated: 3, tasks: 10, failures: 0, max_failures: 1, back: false, standing_in: 0, began_at: "", due_at: null };
  it("says how far it is", () => {
    expect(rolloutText({})).toBe("1");
    expect(rolloutText({ revision: 3, rollout })).toBe("3 of 10 tasks at revision 3");
    expect(rolloutText({ revision: 3, rollout: { ...rollout, back: true, failures: 1 } })).toBe("3 of 10 tasks at revision 3, going back, 1 of 2 failures");
  });
});

describe("what became of a revision", () => {
  const revision = { revision: 2, at: "", by: "ann", outcome: "", back: null, changes: [] };
  it("is told in words", () => {
    expect(became(revision, { state: "RUNNING", revision: 2 })).toBe("in force");
    expect(became(revision, { state: "KILLED", revision: 2 })).toBe("the last that it ran");
    expect(became(revision, { state: "RUNNING", revision: 3 })).toBe("followed by another");
    expect(became({ ...revision, outcome: "failed: no health" }, { state: "RUNNING", revision: 3 })).toBe("failed: no health");
  });
});

describe("the graph", () => {
  it("puts a group after the last of those it waits for", () => {
    const d = depths([group("a"), group("b", ["a"]), group("c", ["a", "b"]), group("d", ["gone"])]);
    expect([...d.values()]).toEqual([0, 1, 2, 0]);
  });
  it("ends on a cycle", () => expect(depths([group("a", ["b"]), group("b", ["a"])]).size).toBe(2));
  it("overlaps no cards", () => {
    const d = dag([group("a"), group("b"), group("c", ["a", "b"])]);
    expect(d.edges).toHaveLength(2);
    expect(d.cards.map((c) => c.x)).toEqual([0, 0, CARD.width + CARD.gapX]);
    expect(Math.abs(d.cards[0]!.y - d.cards[1]!.y)).toBeGreaterThanOrEqual(CARD.height);
  });
  it("makes room for the tallest card, and leads from middle to middle", () => {
    const tall = dag([group("a"), group("b"), group("c", ["a", "b"])], undefined, 150);
    expect(tall.cards[1]!.y - tall.cards[0]!.y).toBeGreaterThanOrEqual(150);
    expect(edgePath(tall.edges[0]!, tall)).toMatch(/^M206 75C/);
  });
  it("stands closer where room is scarce, and scrolls rather than become unreadable", () => {
    const chain = [group("a"), group("b", ["a"]), group("c", ["b"]), group("d", ["c"])];
    expect(dag(chain, 900).width).toBeLessThanOrEqual(900);
    expect(dag(chain, 760).width).toBeLessThanOrEqual(760);
    expect(dag(chain, 300).cardWidth).toBe(164);
    expect(dag(chain, 2000)).toEqual(dag(chain));
  });
});

describe("the timeline", () => {
  const at = (s: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, s)).toISOString();
  const job = { submitted_at: at(0), admitted_at: at(1), started_at: at(2), finished_at: null, groups: [group("a", [], { started_at: at(2), finished_at: at(6) }), group("b", ["a"])] } as unknown as Job;

  it("runs to now while the job does", () => {
    const t = timeline(job, Date.parse(at(10)));
    expect(t.to - t.from).toBe(10_000);
    expect(t.marks.map((m) => m.name)).toEqual(["submitted", "admitted", "first start"]);
    expect(t.lanes[0]!.spans.map((s) => [place(t, s.from), place(t, s.to), s.kind])).toEqual([[0, 20, "waited"], [20, 60, "ran"]]);
    expect(t.lanes[1]!.spans).toMatchObject([{ kind: "waited", open: true }]);
  });
  it("has a lane for each sub-cluster, where one is not the home", () => {
    const placed = { ...job, home: "west" } as Job;
    const there = (sub_cluster: string, first: number, last: number | null) => ({ sub_cluster, first_at: at(first), last_at: last === null ? null : at(last), containers: 3, running: last === null ? 1 : 0 });
    const t = timeline(placed, Date.parse(at(10)));
    expect(placeLanes(placed, [there("west", 2, null)], t)).toEqual([]);
    const lanes = placeLanes(placed, [there("west", 2, 6), there("east", 4, null)], t);
    expect(lanes.map((l) => [l.place.sub_cluster, l.home, place(t, l.from), place(t, l.to), l.open])).toEqual([["west", true, 20, 60, false], ["east", false, 40, 100, true]]);
    const told = story({ ...placed, state: "RUNNING", groups: [] }, [], lanes.map((l) => l.place)).filter((s) => s.title.startsWith("Granted"));
    expect(told.map((s) => s.title)).toEqual(["Granted in west", "Granted in east"]);
    expect(told[1]!.text).toContain("its home is west");
  });
  it("never leaves its frame when clocks differ", () => {
    const t = timeline(job, Date.parse(at(0)) - 5_000);
    expect(t.to).toBeGreaterThan(t.from);
    expect(place(t, t.from - 999)).toBe(0);
  });
  it("marks round times, few of them", () => {
    expect(ticks(10_000)).toEqual([0, 2_000, 4_000, 6_000, 8_000, 10_000]);
    for (const span of [1, 500, 61_000, 5e6, 4e8, 4e9]) expect(ticks(span).length).toBeLessThanOrEqual(8);
  });
});

describe("what it serves", () => {
  const job = (...ports: unknown[][]) => ({ spec: { groups: ports.map((p) => ({ ports: p })) } }) as unknown as Job;
  it("is looked for where a group names ports", () =>
    expect([job(), job([]), job([], [{ name: "http" }]), {} as Job].map(declares)).toEqual([false, false, true, false]));
  it("tells no verdict from a bad one", () =>
    expect([true, false, null].map((healthy) => healthState({ healthy }))).toEqual(["HEALTHY", "FAILING", "UNCHECKED"]));
  it("has a page of the application's own for who may open it", () => {
    const named = { tracking: "/proxy/7/master.0.ui/" } as Job;
    expect([pageOf(named, true), pageOf(named, false), pageOf({ tracking: null } as Job, true), pageOf({} as Job, true)]).toEqual([named.tracking, null, null, null]);
  });
});

describe("the address of a log", () => {
  it("names the stream of one attempt of one task", () => {
    const at = new URL(logAddress(7, "work/12", "c-9", "stderr"), "https://hydra.example");
    expect(at.pathname).toBe("/jobs/7");
    expect(Object.fromEntries(at.searchParams)).toEqual({ tab: "tasks", task: "work/12", attempt: "c-9", stream: "stderr" });
    expect(taskNamed(at.searchParams.get("task"))).toEqual({ group: "work", index: 12 });
  });
  it("may be anything, and then names no task", () =>
    expect([null, "", "work", "work/", "/1", "a/b/1", "work/-1", "work/1 or 1"].map(taskNamed)).toEqual(Array(8).fill(null)));
});

it("tells the values of each task of an array, as the node puts them in", () => {
  const array = { seed: [1, 2, 3], rate: [0.1, 0.01] };
  expect([0, 1, 3, 5, 6, -1].map((i) => valuesText(array, i))).toEqual(["rate=0.1, seed=1", "rate=0.1, seed=2", "rate=0.01, seed=1", "rate=0.01, seed=3", "", ""]);
  expect([valuesText([{ a: 1, b: true }], 0), valuesText([{ a: 1 }], 1), valuesText(undefined, 0)]).toEqual(["a=1, b=true", "", ""]);
});

it("knows a priority while it is typed", () => {
  expect(["-", "", "-5", "499", "500", "-500", "-501", "1.5", "5 "].map(isPriority)).toEqual([false, false, true, true, false, true, false, false, true]);
});
