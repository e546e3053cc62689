import { describe, expect, it } from "vitest";
import { fullOf, isOpen, LEAF, pointer, rowsOf, SEE_WHOLE, visible, type Choice } from "./tree";
import type { QueueLayout, QueueUse } from "./types";

const G = 1024;
const layout: QueueLayout = {
  layout: "7", policy_version: 7, partitions: [],
  queues: {
    name: ["root", "prod", "etl", "lab"], parent: [-1, 0, 1, 0], see: [SEE_WHOLE, SEE_WHOLE, SEE_WHOLE, SEE_WHOLE], flags: [0, 0, LEAF, LEAF],
    guaranteed: [[100 * G, 60 * G, 60 * G, 40 * G], [100, 60, 60, 40], [0, 0, 0, 0]],
    maximum: [[100 * G, 100 * G, 80 * G, 100 * G], [100, 100, 80, 100], [0, 0, 0, 0]], weight: [null, null, null, null],
  },
};
const use = (more: Partial<QueueUse> = {}): QueueUse => ({
  at: 0, layout: "7", sub_cluster: null, shares: { policy: "gif", stale_s: 30 }, capacity: [100 * G, 100, 0], places: [], others: null,
  queues: {
    at: [0, 1, 2, 3], used: [[80 * G, 20 * G, 20 * G, 60 * G], [70, 50, 50, 20], [0, 0, 0, 0]],
    pending: [[30 * G, 30 * G, 30 * G, 0], [0, 0, 0, 0], [0, 0, 0, 0]], share: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    guaranteed_part: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], live: [3, 1, 1, 2], running: [3, 1, 1, 2],
  },
  starving: [{ at: 2, partition: "", since: 1, lacking: [30 * G, 0, 0] }], ...more,
});
const choice: Choice = { search: "", sort: "tree", toggled: new Set() };

describe("rows of the tree", () => {
  it("puts limits and use together, and says who borrows of whom", () => {
    const rows = rowsOf(layout, use(), "memory")!;
    expect(rows.map((r) => r.path)).toEqual(["root", "root.prod", "root.prod.etl", "root.lab"]);
    expect(rows[3]).toMatchObject({ borrowed: 20 * G, lent: 0, used: 60 * G });
    expect(rows[1]).toMatchObject({ borrowed: 0, lent: 20 * G });
    expect(rows[2]!.starving?.since).toBe(1);
  });
  it("shows of each queue the resource of which it holds and wants the largest part", () => {
    expect(rowsOf(layout, use(), "dominant")!.map((r) => r.axis)).toEqual([0, 0, 0, 0]);
    const idle = use({ queues: { ...use().queues, pending: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]] } });
    expect(rowsOf(layout, idle, "dominant")!.map((r) => r.axis)).toEqual([0, 1, 1, 0]);
    const empty = [[10 * G, 0, 0, 0], [20, 0, 0, 0], [0, 0, 0, 0]];
    const nothing = use({ queues: { ...use().queues, used: empty, pending: empty } });
    expect(rowsOf(layout, nothing, "dominant")!.map((r) => r.axis), "idle ones like the root").toEqual([1, 1, 1, 1]);
  });
  it("in one sub-cluster goes by what is guaranteed there", () => {
    const there = use({ sub_cluster: "west", queues: { ...use().queues, guaranteed_part: [[0, 7 * G, 7 * G, 0], [0, 0, 0, 0], [0, 0, 0, 0]] } });
    expect(rowsOf(layout, there, "memory")![1]!.guaranteed).toBe(7 * G);
  });
  it("draws bars against all there is, or against what each queue is about", () => {
    const rows = rowsOf(layout, use(), "memory")!;
    expect(rows.map((r) => fullOf(r, "all") / G)).toEqual([100, 100, 100, 100]);
    expect(rows.map((r) => fullOf(r, "own") / G)).toEqual([100, 100, 80, 80]);
    const bare = { ...rows[2]!, guaranteed: 0, used: 0 };
    expect([fullOf(bare, "own"), fullOf({ ...bare, pending: 0 }, "own")]).toEqual([30 * G, 100 * G]);
  });
  it("waits while the two are of different policies", () => expect(rowsOf(layout, use({ layout: "8" }), "memory")).toBeNull());
});

describe("what is shown of it", () => {
  const rows = rowsOf(layout, use(), "memory")!;
  it("closes what was closed", () => {
    expect(visible(rows, { ...choice, toggled: new Set(["root.prod"]) }).map((r) => r.name)).toEqual(["root", "prod", "lab"]);
    expect(isOpen(rows[0]!, 5000, new Set())).toBe(true);
    expect(isOpen(rows[1]!, 5000, new Set())).toBe(false);
  });
  it("finds a queue with those above it, also in what is closed", () =>
    expect(visible(rows, { ...choice, search: "ETL", toggled: new Set(["root.prod"]) }).map((r) => r.name)).toEqual(["root", "prod", "etl"]));
  it("sorts siblings", () => expect(visible(rows, { ...choice, sort: "used" }).map((r) => r.name)).toEqual(["root", "lab", "prod", "etl"]));
  it("takes 5,000 queues in a moment", () => {
    const many = 5000;
    const column = (n: number) => [Array(many).fill(n), Array(many).fill(n), Array(many).fill(0)] as number[][];
    const large: QueueLayout = { ...layout, queues: { name: Array.from({ length: many }, (_, i) => `q${i}`), parent: Array.from({ length: many }, (_, i) => (i === 0 ? -1 : Math.floor((i - 1) / 20))), see: Array(many).fill(3), flags: Array(many).fill(0), guaranteed: column(1), maximum: column(2), weight: Array(many).fill(null) } };
    const full = use({ starving: [], queues: { at: Array.from({ length: many }, (_, i) => i), used: column(1), pending: column(1), share: column(0), guaranteed_part: column(0), live: Array(many).fill(1), running: Array(many).fill(1) } });
    const took = [1, 2, 3, 4, 5].map(() => {
      const began = performance.now();
      expect(visible(rowsOf(large, full, "dominant")!, { ...choice, sort: "used", search: "q4" }).length).toBeGreaterThan(1000);
      return performance.now() - began;
    });
    expect(Math.min(...took), "of a machine that does other things, too").toBeLessThan(500);
  });
});

it("points into the policy document", () => {
  expect(pointer("root.prod.etl")).toBe("/queues/prod/children/etl");
  expect(pointer("root")).toBe("/queues");
});
