import { describe, expect, it } from "vitest";
import { AXES } from "../../format/resources";
import { memory, some } from "../../testing";
import { weeksOf } from "./model/calendar";
import { overrideCommand, pushCommand } from "./model/commands";
import { complete } from "./model/complete";
import { load, save } from "./model/draft";
import { guardRows, guardsFrom } from "./model/guards";
import { amountOf, limitWord, totals, typed } from "./model/limits";
import { differences, merged, threeWay } from "./model/merge";
import { made } from "./model/override";
import { clusters, otherwise } from "./model/own";
import { barsOf, mostMoved, notesOf } from "./model/planrows";
import { choices, fieldsAt, helpFor, policies, schemaAt, type Schema } from "./model/schema";
import { documentText, edit, fileText, fromPointer, pathAt, pathOf, read, rename, toPointer, write } from "./model/text";
import { placeOf } from "../../format/text";
import { triedFirst } from "./model/spreading";
import { queueAt, rowsOf } from "./model/tree";
import type { Override, Plan, PlanSide, Rollout } from "./types";

const TEXT = `# who gets what
queues:
  default: {guaranteed: 0.5, open_to_all: true}   # everybody
  prod:
    guaranteed: 40%
    children:
      etl: {guaranteed: 1.0}
      web:
components:
  locality:
    parameters: {node_wait_s: 5}
`;

describe("the text", () => {
  it("is found by field and by pointer, and the field by the place", () => {
    const reading = read(TEXT);
    expect(placeOf(reading, pathOf("queues.prod.guaranteed"))?.line).toBe(5);
    expect(placeOf(reading, pathOf("queues.prod.children.web.weight"))?.line).toBe(8);
    expect(placeOf(reading, fromPointer("/components/locality/parameters/node_wait_s"))?.line).toBe(11);
    expect(fromPointer(toPointer(["a/b", "c~d"]))).toEqual(["a/b", "c~d"]);
    expect(pathAt(reading, TEXT.indexOf("40%"))).toEqual(["queues", "prod", "guaranteed"]);
  });
  it("is a file that says which version it was made from, once", () => {
    expect(fileText("queues: {}\n", 7)).toBe("# version 7\nqueues: {}\n");
    expect(fileText("# version 3\nqueues: {}\n", 7)).toBe("# version 7\nqueues: {}\n");
    expect(fileText("# versions matter\nqueues: {}\n", 7)).toBe("# version 7\n# versions matter\nqueues: {}\n");
  });
  it("is read as YAML or JSON, and says at which line it is not", () => {
    expect(read('{"queues": {"a": {}}}').value).toEqual({ queues: { a: {} } });
    expect(read("queues:\n  a: [1\n").problems[0]?.line).toBeGreaterThan(1);
    expect(read("- a list").problems[0]?.message).toContain("list of fields");
    expect(documentText({ components: {}, queues: { b: { children: {}, weight: 1, guaranteed: 1 }, a: {} } })).toBe(
      "queues:\n  a: {}\n  b:\n    guaranteed: 1\n    weight: 1\n    children: {}\ncomponents: {}\n",
    );
    expect(read(TEXT).value).toEqual(read(write(read(TEXT).value)).value);
  });
  it("keeps comments and everything else when one field changes", () => {
    const text = edit(TEXT, ["queues", "default", "guaranteed"], 0.45);
    expect(text).toContain("# who gets what");
    expect(text).toContain("{guaranteed: 0.45, open_to_all: true} # everybody");
    expect(text).toContain("guaranteed: 40%");
    expect(differences(read(TEXT).value, read(text).value).map((d) => toPointer(d.path))).toEqual(["/queues/default/guaranteed"]);
  });
  it("grows where nothing was, and leaves no empty mapping behind", () => {
    const text = edit(TEXT, ["queues", "prod", "children", "web", "partitions", "gpu", "guaranteed"], "50%");
    expect(read(text).value).toMatchObject({ queues: { prod: { children: { web: { partitions: { gpu: { guaranteed: "50%" } } } } } } });
    const back = edit(text, ["queues", "prod", "children", "web", "partitions", "gpu", "guaranteed"], undefined);
    expect(read(back).value).toMatchObject({ queues: { prod: { children: { web: {} } } } });
    expect(back).not.toContain("partitions");
  });
  it("keeps a sub-cluster whose last setting goes, until it is taken out itself", () => {
    const text = edit(TEXT, ["sub_clusters", "east", "components", "placement", "policy"], "pack");
    expect(read(text).value?.sub_clusters).toEqual({ east: { components: { placement: { policy: "pack" } } } });
    const back = edit(text, ["sub_clusters", "east", "components", "placement", "policy"], undefined);
    expect(read(back).value?.sub_clusters).toEqual({ east: {} });
    expect(read(edit(back, ["sub_clusters", "east"], undefined)).value).toEqual(read(TEXT).value);
  });
  it("renames a queue in its place", () => {
    const text = rename(TEXT, ["queues", "prod"], "production");
    expect(Object.keys(read(text).value!.queues as object)).toEqual(["default", "production"]);
    expect(text).toContain("# everybody");
  });
});

describe("queues", () => {
  it("are rows of a tree", () => {
    const rows = rowsOf(read(TEXT).value);
    expect(rows.map((r) => r.name)).toEqual(["root.default", "root.prod", "root.prod.etl", "root.prod.web"]);
    expect(rows.map((r) => r.depth)).toEqual([1, 1, 2, 2]);
    expect(queueAt(["queues", "prod", "children", "etl", "guaranteed"])).toEqual(rows[2]!.path);
    expect(queueAt(["components", "locality"])).toBeNull();
  });
  it("add up, with what is left", () => {
    expect(totals([{ guaranteed: 0.5 }, { guaranteed: "40%" }])).toEqual([{ resource: "memory_mib", share: 0.9, units: 0, left: expect.closeTo(0.1) }]);
    const apart = totals([{ guaranteed: { memory_mib: "64 GiB", vcores_milli: "32 cores" } }, { guaranteed: "30%" }]);
    const told = AXES.map((axis) => (axis === "memory_mib" ? [axis, 65536, 0.3, true] : axis === "vcores_milli" ? [axis, 32000, 0.3, true] : [axis, 0, 0.3, false]));
    expect(apart.map((t) => [t.resource, t.units, t.share, t.left === null])).toEqual(told);
    expect(amountOf(2)).toEqual({ share: 0, units: 2 });
    expect([amountOf("101%"), amountOf("5 apples"), amountOf(true)]).toEqual([null, null, null]);
    expect([limitWord(0.4), limitWord("40%"), limitWord({ gpus: "1 gpu" }), limitWord(null)]).toEqual(["40 %", "40%", "1 gpu", ""]);
    expect([typed(" 40 % "), typed("0.4"), typed("64 GiB"), typed("")]).toEqual(["40%", 0.4, "64 GiB", undefined]);
  });
});

describe("two operators", () => {
  const base = { queues: { a: { weight: 1 }, b: { weight: 1 } } };
  it("whose changes lie apart are merged, and mine keeps its comments", () => {
    const text = "queues:\n  a: {weight: 2} # mine\n  b: {weight: 1}\n";
    const found = threeWay(base, read(text).value!, { queues: { a: { weight: 1 }, b: { weight: 5 }, c: {} } });
    expect(found.conflicts).toEqual([]);
    const both = merged(text, found);
    expect(read(both).value).toEqual({ queues: { a: { weight: 2 }, b: { weight: 5 }, c: {} } });
    expect(both).toContain("# mine");
  });
  it("who changed the same place choose", () => {
    const text = "queues: {a: {weight: 2}, b: {weight: 1}}";
    const found = threeWay(base, read(text).value!, { queues: { a: { weight: 9 }, b: { weight: 1 } } });
    expect(found.conflicts).toEqual([{ path: ["queues", "a", "weight"], base: 1, mine: 2, theirs: 9 }]);
    expect(read(merged(text, found)).value).toMatchObject({ queues: { a: { weight: 2 } } });
    expect(read(merged(text, found, new Set(["/queues/a/weight"]))).value).toMatchObject({ queues: { a: { weight: 9 } } });
  });
  it("of whom one removed what the other changed conflict; who did the same do not", () => {
    expect(threeWay(base, { queues: { a: { weight: 1 } } }, { queues: { a: { weight: 1 }, b: { weight: 7 } } }).conflicts).toHaveLength(1);
    const same = { queues: { a: { weight: 3 }, b: { weight: 1 } } };
    expect(threeWay(base, same, same)).toMatchObject({ conflicts: [], clean: [] });
  });
});

const ROOT: Schema = {
  type: "object",
  properties: { queues: { type: "object", patternProperties: { "^.*$": { $ref: "#/$defs/Queue" } } }, routing: { oneOf: [{ $ref: "#/$defs/Least" }, { $ref: "#/$defs/Hash" }] } },
  $defs: {
    Queue: {
      type: "object",
      properties: {
        weight: { anyOf: [{ type: "number", exclusiveMinimum: 0, maximum: 1000 }, { type: "null" }], description: "its part", default: null },
        ordering: { anyOf: [{ enum: ["fifo", "fair"] }, { type: "null" }] },
        children: { type: "object", patternProperties: { "^.*$": { $ref: "#/$defs/Queue" } } },
      },
    },
    Least: { type: "object", properties: { policy: { const: "least", default: "least" }, parameters: { $ref: "#/$defs/P1" } } },
    Hash: { type: "object", properties: { policy: { const: "hash" }, parameters: { $ref: "#/$defs/P2" } } },
    P1: { type: "object", properties: { wait_s: { type: "number", minimum: 0, maximum: 10, default: 3, description: "how long" } } },
    P2: { type: "object", properties: { salt: { type: "string" } } },
  },
};

describe("the schema", () => {
  it("says what a field is, also of the policy that is chosen", () => {
    expect(schemaAt(ROOT, ["queues", "a", "children", "b", "weight"])?.description).toBe("its part");
    expect(fieldsAt(ROOT, ["routing", "parameters"], { routing: { policy: "hash" } }).map((f) => f.name)).toEqual(["salt"]);
    expect(policies(ROOT, ROOT.properties!.routing!)).toEqual(["least", "hash"]);
    expect(choices(ROOT, schemaAt(ROOT, ["queues", "a", "ordering"])!)).toEqual(["fifo", "fair"]);
    expect(helpFor(ROOT, "wait_s", ROOT.$defs!.P1!.properties!.wait_s!).facts).toEqual(["number", "from 0 to 10", "in s", "default 3"]);
    expect(schemaAt(ROOT, ["nothing", "there"])).toBeNull();
  });
  it("completes fields by the indent and values by the field", () => {
    const fields = "queues:\n  a:\n    we";
    expect(complete(ROOT, fields, fields.length, false)?.options.map((o) => o.label)).toEqual(["weight", "ordering", "children"]);
    const values = "queues:\n  a:\n    ordering: f";
    expect(complete(ROOT, values, values.length, false)?.options.map((o) => o.label)).toEqual(["fifo", "fair"]);
    const policy = "routing:\n  policy: ";
    expect(complete(ROOT, policy, policy.length, true)?.options.map((o) => o.label)).toEqual(["least", "hash"]);
    const top = "queues: {}\nro";
    expect(complete(ROOT, top, top.length, false)?.options.map((o) => o.label)).toEqual(["routing"]);
    const named = "sub_clusters:\n  east: {}\n  w";
    expect(complete(ROOT, named, named.length, false, ["east", "west"])?.options.map((o) => o.apply)).toEqual(["west:"]);
  });
});

const amounts = (memory_mib: number) => some({ memory_mib });
const side = (share: number, more: Partial<PlanSide> = {}): PlanSide => ({ guaranteed: amounts(0), share: amounts(share), due: amounts(0), lacks: amounts(0), gives_back: amounts(0), starves: false, ...more });

describe("a plan", () => {
  const plan = {
    capacity: some({ memory_mib: 1000, vcores_milli: 10 }),
    queues: [
      { path: "root.a", leaf: true, moved: -0.2, used: amounts(500), wanted: amounts(0), before: side(500), after: side(300, { gives_back: amounts(200) }) },
      { path: "root.b", leaf: true, moved: 0.2, used: amounts(0), wanted: amounts(9), before: null, after: side(200, { starves: true }) },
    ],
  } as unknown as Plan;
  it("becomes bars, with what follows in words", () => {
    expect(mostMoved(plan)).toBe("memory_mib");
    expect(barsOf(plan, "memory_mib").map((b) => [b.before, b.after, b.used])).toEqual([[0.5, 0.3, 0.5], [null, 0.2, 0]]);
    expect(notesOf(plan.queues[0]!)).toEqual(["gives back 200 MiB"]);
    expect(notesOf(plan.queues[1]!)).toEqual(["new", "starves"]);
  });
});

describe("rollouts", () => {
  const quiet = { window_s: 60, jobs: 5, pending_p99_s: 2, ended: 20, failed: 1, ended_per_min: 20, allocations_per_s: 10, utilization: 0.8, waits: true };
  it("show each guard's value against its limit", () => {
    const now = { ...quiet, pending_p99_s: 12, failed: 10, allocations_per_s: 5 };
    const rollout = {
      stage: 0, guards: { pending_p99_s: 10, failure_share: 0.2, allocation_rate_drop: 0.8 }, baseline: { "0": { staged: quiet, others: quiet } }, metrics: { stages: [{ staged: now, others: quiet }] },
    } as unknown as Rollout;
    expect(guardRows(rollout).map((g) => [g.name, g.before, g.now, g.part])).toEqual([
      ["pending_p99_s", "2.0 s", "12 s", 1.2], ["failure_share", "5.0 %", "50 %", 2.5], ["allocation_rate_drop", "10 a second", "5.0 a second", 0.625],
    ]);
  });
  it("take guards as people type them", () => {
    expect(guardsFrom({ pending_p99_s: "30", failure_share: "20 %", utilization_drop: "" })).toEqual({ pending_p99_s: 30, failure_share: 0.2 });
    expect(guardsFrom({ failure_share: "200" })).toBeNull();
    expect(guardsFrom({ pending_p99_s: "soon" })).toBeNull();
  });
  it("are called so in hydractl", () => {
    const stages = [{ sub_clusters: ["west"], soak_s: 60, everywhere: false }, { sub_clusters: ["east", "north"], soak_s: 60, everywhere: false }];
    const watched = [{ sub_clusters: [], soak_s: 300, everywhere: true }];
    expect(pushCommand({ message: "x", stages: watched, guards: { failure_share: 0.2 }, onBreach: "rollback", force: false })).toBe("hydractl policy push -f policy.yaml -m x --watch 300 --guard failure_share=0.2");
    expect(pushCommand({ message: "it's time", stages, guards: { failure_share: 0.2 }, onBreach: "pause", force: false })).toBe(
      "hydractl policy push -f policy.yaml -m 'it'\\''s time' --staged west --staged east,north --soak 60 --guard failure_share=0.2 --on-breach pause",
    );
    expect(pushCommand({ message: "", stages: [], guards: {}, onBreach: "rollback", force: true })).toBe("hydractl policy push -f policy.yaml -m '…' --force");
  });
});

describe("overrides", () => {
  const one = (id: number, from: string, to: string, more: Partial<Override> = {}) => ({ id, starts_at: new Date(from).toISOString(), ends_at: new Date(to).toISOString(), cancelled_at: null, ...more }) as Override;
  it("stand on their days, in lanes, and go on over weeks", () => {
    const weeks = weeksOf(new Date(2026, 2, 4), "month", [one(1, "2026-03-03T10:00", "2026-03-10T09:00"), one(2, "2026-03-04T00:00", "2026-03-05T00:00"), one(3, "2026-02-01T00:00", "2026-02-02T00:00")]);
    expect(weeks.map((w) => w.days[0]!.key)).toEqual(["2026-02-23", "2026-03-02", "2026-03-09", "2026-03-16", "2026-03-23", "2026-03-30"]);
    expect(weeks[1]!.bars.map((b) => [b.override.id, b.from, b.to, b.lane, b.before, b.after])).toEqual([[1, 1, 6, 0, false, true], [2, 2, 2, 1, false, false]]);
    expect(weeks[2]!.bars.map((b) => [b.from, b.to, b.before])).toEqual([[0, 1, true]]);
    expect(weeks[0]!.bars).toEqual([]);
  });
  it("that were cancelled end there", () => {
    const cut = one(1, "2026-03-03T10:00", "2026-03-20T09:00", { cancelled_at: new Date("2026-03-04T10:00").toISOString() });
    expect(weeksOf(new Date(2026, 2, 4), "week", [cut])[0]!.bars.map((b) => [b.from, b.to])).toEqual([[1, 2]]);
  });
  it("are asked for as people type them", () => {
    const fields = { queue: "root.ads", field: "guaranteed" as const, partition: "", by: "percent" as const, value: "+20 %", start: "", end: "2026-03-02T00:00", message: "the launch" };
    const now = Date.parse("2026-02-27T00:00");
    const found = made(fields, now);
    expect(found).toMatchObject({ request: { change: { percent: 20 }, starts_at: null } });
    expect("request" in found && overrideCommand({ ...found.request, ends_at: fields.end })).toBe("hydractl policy overrides add root.ads guaranteed --by +20% --until 2026-03-02T00:00 -m 'the launch'");
    expect(made({ ...fields, by: "to", value: "none" }, now)).toMatchObject({ request: { change: { to: null } } });
    for (const wrong of [{ queue: "" }, { value: "0" }, { value: "much" }, { end: "" }, { end: "2026-02-01T00:00" }, { message: " " }]) expect(made({ ...fields, ...wrong }, now)).toHaveProperty("wrong");
  });
});

describe("the draft", () => {
  it("is found again, and what is no draft is none", () => {
    const held = memory();
    const s = () => held;
    expect(load(s, "ann")).toBeNull();
    expect(save(s, "ann", { text: "queues: {}", base: 3, savedAt: 1 })).toBe(true);
    expect(load(s, "ann")).toEqual({ text: "queues: {}", base: 3, savedAt: 1 });
    held.setItem("hydra.kept.ann/policy", "not json");
    expect(load(s, "ann")).toBeNull();
  });
});

describe("a sub-cluster of its own ways", () => {
  const root: Schema = { properties: { components: { properties: { locality: { properties: { parameters: { properties: { node_wait_s: { type: "number", default: 3 } } } } } } } } };
  it("shows the cluster's value where it says nothing: what is written, else the default", () => {
    const path = ["locality", "parameters", "node_wait_s"];
    expect([clusters(root, read(TEXT).value!, path), clusters(root, {}, path), clusters(root, {}, ["nothing"])]).toEqual([5, 3, undefined]);
  });
  it("is told in a line", () => {
    expect(otherwise({ policy: "pack", parameters: { batch: 5, intra_queue: [] } })).toBe("policy pack, batch 5, intra_queue none");
    expect([otherwise({}), otherwise({ policy: null })]).toEqual(["", ""]);
  });
});

describe("a push in stages", () => {
  it("says what the stages before the last one try", () => {
    const said = (staged: number, total: number) => triedFirst({ identical: total === 0, staged, total });
    expect([triedFirst(null), said(0, 0), said(2, 2)]).toEqual(["", "", ""]);
    expect(said(0, 1)).toMatch(/^None of this/);
    expect(said(1, 3)).toBe("1 of these 3 changes is tried in stages.");
  });
});
