import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Router } from "wouter";
import type { Comparison } from "../../api/types";
import { some } from "../../testing";
import { alike, commandOf, fromSearch, groupsOf, toSearch } from "./compare";
import { CompareTable } from "./CompareTable";

type Compared = Comparison["sub_clusters"][number];

const sub = (name: string, more: Partial<Compared> = {}): Compared => ({
  name, state: "running", components_version: 7, policies: { placement: "spread", failing_nodes: "avoid" }, allocations_per_s: 2,
  allocation_latency_count: 0, allocation_latency_p50_s: null, allocation_latency_p99_s: null, jobs: 0, job_wait_p50_s: null, job_wait_p99_s: null,
  utilization: 0.5, pending: some({ memory_mib: 2048, vcores_milli: 1500 }), ended: 0, ended_per_s: 0, failed: 0, failures_per_min: 0,
  preempted: 0, preemptions_per_min: 0, round_count: 30, round_p50_ms: 12, round_p99_ms: 40, ...more,
});
const found = (...sub_clusters: Compared[]): Comparison => ({ at: "2026-03-01T12:00:00Z", window_s: 300, differs: [], sub_clusters });
const west = sub("west", { allocation_latency_count: 1204, allocation_latency_p50_s: 0.4, policies: { placement: "pack", failing_nodes: "avoid" } });
const both: Comparison = {
  ...found(west, sub("east", { allocations_per_s: 1 })),
  differs: [{ setting: "placement.policy", values: { west: "pack", east: "spread" } }, { setting: "preemption.intra_queue", values: { west: [], east: ["priority"] } }],
};
const row = (of: Comparison, name: string) => groupsOf(of).flatMap((g) => g.rows).find((r) => r.name === name);

describe("a comparison", () => {
  it("has what the components differ in first, by the document's names", () => {
    const [components] = groupsOf(both);
    expect(components?.rows.map((r) => [r.name, ...r.cells.map((c) => c.text)])).toEqual([
      ["Policy version", "7", "7"], ["placement.policy", "pack", "spread"], ["preemption.intra_queue", "none", "priority"],
    ]);
  });
  it("says of how many a figure is, and nothing where nothing was measured", () => {
    expect(row(both, "First container, median")?.cells).toEqual([{ text: "400 ms", of: "of 1,204 tasks", part: 1 }, { text: "–", of: undefined, part: null }]);
  });
  it("draws each value as its part of the row's largest", () => {
    expect(row(both, "Containers started")?.cells.map((c) => [c.text, c.part])).toEqual([["2 /s", 1], ["1 /s", 0.5]]);
    expect(row(both, "Failed")?.cells.map((c) => c.part)).toEqual([0, 0]);
  });
  it("tells of GPUs only where somebody waits for one", () => {
    expect(row(both, "GPUs waited for now")).toBeUndefined();
    const gpus = sub("south", { pending: some({ gpus: 3 }) });
    expect(row(found(west, gpus), "GPUs waited for now")?.cells.map((c) => c.text)).toEqual(["0", "3"]);
  });
  it("names what is the same in all", () => {
    expect([alike(both), alike(found(west)), alike(found())]).toEqual(["failing nodes avoid", "placement pack, failing nodes avoid", ""]);
  });
});

const drawn = (of: Comparison) => renderToStaticMarkup(createElement(Router, { ssrPath: "/fleet/compare", children: createElement(CompareTable, { found: of }) }));

describe("the table", () => {
  const html = drawn(both);
  it("has a caption, a header for each column and row, and groups", () => {
    expect(html).toContain("<caption>What each did from ");
    expect(html.match(/<th scope="col"/g)).toHaveLength(3);
    expect(html.match(/<th scope="rowgroup" colSpan="3"/g)).toHaveLength(4);
    expect(html.match(/<th scope="row"/g)).toHaveLength(groupsOf(both).flatMap((g) => g.rows).length);
    expect(html).toContain('<tr class="sides-setting"><th scope="row"><code>placement.policy</code></th>');
  });
  it("names a sub-cluster's state only where it does not run", () => {
    expect(html).not.toContain("data-state");
    expect(drawn(found(west, sub("east", { state: "draining" })))).toContain('data-state="draining"');
  });
});

describe("what is asked", () => {
  it("stands in the address, within what the server takes", () => {
    for (const asked of [{ names: [], windowS: 300 }, { names: ["west", "east"], windowS: 3600 }]) expect(fromSearch(toSearch(asked))).toEqual(asked);
    expect(toSearch({ names: ["west", "east"], windowS: 60 })).toBe("?names=west,east&window=60");
    expect(fromSearch("?window=7&names=,")).toEqual({ names: [], windowS: 300 });
  });
  it("is a command as well", () => {
    expect(commandOf({ names: ["west"], windowS: 60 })).toBe("hydractl compare west --window 60s");
    expect(commandOf({ names: [], windowS: 300 })).toBe("hydractl compare");
  });
});
