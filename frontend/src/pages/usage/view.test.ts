import { describe, expect, it } from "vitest";
import { csv, indexAt, latest, linesOf, stepped, type SeriesAnswer } from "../../charts/series";
import { RESOURCES } from "../../format/resources";
import { placeOf } from "./Events";
import { address, charts, panned, parse, spanOf, zoomed } from "./view";
import { scopesOf } from "./scopes";

const NOW = 1_900_000_000;

describe("the address of the page", () => {
  it("says the same view again", () => {
    for (const text of ["", "?scope=queue%3Aroot.a", "?last=7d", "?scope=cluster&from=1899990000&to=1900000000&at=1899995000"]) {
      expect(address(parse(text))).toBe(text);
    }
  });
  it("falls back where it makes no sense", () => {
    expect(parse("?from=1900000000&to=1899990000").span).toBeNull();
    expect(parse("?from=x&to=1&last=never&at=-3")).toEqual({ scope: "", last: "1h", span: null, at: null });
  });
  it("moves and widens, never into the future", () => {
    const span = { from: NOW - 3600, to: NOW - 1800 };
    expect(panned(span, -0.5, NOW)).toEqual({ from: NOW - 4500, to: NOW - 2700 });
    expect(panned(span, 5, NOW)).toEqual({ from: NOW - 1800, to: NOW });
    expect(zoomed(span, 2, NOW)).toEqual({ from: NOW - 4500, to: NOW - 900 });
    expect(zoomed({ from: NOW - 10, to: NOW }, 2, NOW).to).toBe(NOW);
    expect(spanOf(parse("?last=15m"), NOW + 0.4)).toEqual({ from: NOW - 900, to: NOW });
  });
});

it("marks lead to what was changed", () => {
  const places = ["policy", "rollout", "override", "sub-cluster"].map((kind) => placeOf({ kind, id: 7 }));
  expect(places).toEqual(["/policy/rollouts?version=7", "/policy/rollouts/7", "/policy/overrides?override=7", null]);
});

describe("charts", () => {
  it("draw a queue's guarantee and a cluster's capacity and use", () => {
    const metrics = (scope: string) => charts(scope).flatMap((c) => c.lines.map((l) => l.metric));
    expect(metrics("queue:root.a")).toContain("guaranteed_memory_mib");
    expect(metrics("queue:root.a")).not.toContain("used_memory_mib");
    expect(metrics("cluster")).toContain("used_vcores_milli");
    const measured = RESOURCES.flatMap(({ axis, measured }) => [`allocated_${axis}`, ...(measured ? [`used_${axis}`] : [])]);
    expect(metrics("node:3")).toEqual(measured);
    expect(metrics("node:3").filter((name) => name.startsWith("used_"))).toEqual(["used_memory_mib", "used_vcores_milli"]);
  });
  it("tell lines apart without colour", () => {
    for (const chart of [...charts("cluster"), ...charts("queue:root"), ...charts("node:3")]) {
      const looks = chart.lines.map((l) => JSON.stringify([l.dash ?? [], l.fill ?? false]));
      expect(new Set(looks).size).toBe(looks.length);
    }
  });
});

describe("history", () => {
  const answer: SeriesAnswer = { step_s: 10, at: [100, 110, 120], events: [],
    series: [{ scope: "cluster", metric: "m", unit: "MiB", values: [1024, null, 2048] }] };
  it("becomes lines in the chart's unit, with gaps", () => {
    expect(linesOf(answer, "cluster", [{ metric: "m", label: "M", color: "accent", factor: 1 / 1024 }])[0]?.values).toEqual([1, null, 2]);
    expect(linesOf(answer, "queue:x", [{ metric: "m", label: "M", color: "accent" }])).toEqual([]);
  });
  it("is stepped through", () => {
    expect([99, 100, 109, 120, 500].map((t) => indexAt(answer.at, t))).toEqual([-1, 0, 0, 2, 2]);
    expect([stepped(answer.at, null, -1), stepped(answer.at, 110, 1), stepped(answer.at, 120, 1), stepped([], 1, 1)]).toEqual([110, 120, 120, null]);
  });
  it("is a file that spreadsheets read", () => {
    const lines = [{ label: 'a,"b"', color: "accent", values: [1.5, null, 2] }];
    expect(csv(answer.at, lines, "GiB")).toBe('time,"a,""b"" (GiB)"\r\n1970-01-01T00:01:40.000Z,1.5\r\n1970-01-01T00:01:50.000Z,\r\n1970-01-01T00:02:00.000Z,2\r\n');
  });
});

describe("a legend that nobody points at", () => {
  it("says the last value, of a window that may not be over, and nothing of what ended before", () => {
    expect([latest([1, 2, 3]), latest([1, 2, null]), latest([1, null, null]), latest([])]).toEqual([3, 2, null, null]);
  });
});

describe("what can be looked at", () => {
  it("is the cluster, the sub-clusters and the queues that were found, those that fit what is typed", () => {
    expect(scopesOf("", ["east", "west"], ["root.a"])).toEqual(["cluster", "sub-cluster:east", "sub-cluster:west", "queue:root.a"]);
    expect(scopesOf("east", ["east", "west"], ["root.east"])).toEqual(["sub-cluster:east", "queue:root.east"]);
    expect(scopesOf("root", [], Array.from({ length: 60 }, (_, n) => `root.q${n}`))).toHaveLength(50);
  });
});
