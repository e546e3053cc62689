import { describe, expect, it } from "vitest";
import { grouped, jobNumber, matching, nodeEntry, queueEntries, score, subClusterEntries, type Entry } from "./find";
import { act, ahead, type Press } from "./keys";

const entry = (name: string, group = "Pages", note?: string): Entry => ({ id: name, group, name, note });

describe("the palette", () => {
  it("puts what begins with the text first", () => {
    expect(matching([entry("My jobs"), entry("Jobs"), entry("Overview")], "jo").map((e) => e.name)).toEqual(["Jobs", "My jobs"]);
    expect(["root.prod.etl", "operator", "xetl"].map((t) => score(t, "etl"))).toEqual([3, 0, 2]);
  });
  it("wants every word", () => expect(matching([entry("Drain west-1", "Nodes"), entry("Drain east-1", "Nodes")], "drain west").map((e) => e.name)).toEqual(["Drain west-1"]));
  it("offers everything while nothing is typed", () => expect(matching([entry("a"), entry("b")], " ")).toHaveLength(2));
  it("keeps groups together", () => expect(grouped([entry("a", "x"), entry("b", "y"), entry("c", "x")]).map((g) => g.entries.length)).toEqual([2, 1]));
  it("knows a job's number", () => expect(["#42", " 42 ", "job 42", "hydractl job 42", "4x", ""].map(jobNumber)).toEqual(["42", "42", "42", "42", null, null]));
  it("leads only to pages there are", () => {
    const node = { id: 7, name: "n", sub_cluster: "west", state: "UP" as const };
    expect(nodeEntry(node, () => true).to).toBe("/fleet/nodes/7");
    expect(nodeEntry(node, () => false).to).toBe("/");
    expect(subClusterEntries(undefined, () => true)).toEqual([]);
  });
  it("knows every queue, but for those of which only the name is seen", () => {
    const queues = { name: ["root", "a", "b", "b.1"], parent: [-1, 0, 0, 2], see: [1, 2, 3, 3], flags: [0, 1, 0, 3] };
    const found = queueEntries({ layout: "1", policy_version: 1, partitions: [], queues: { ...queues, guaranteed: [], maximum: [] } as never });
    expect(found.map((e) => [e.name, e.note, e.to])).toEqual([
      ["root.a", undefined, "/queues?queue=root.a"], ["root.b", undefined, "/queues?queue=root.b"], ["root.b.b.1", "stopped", "/queues?queue=root.b.b.1"],
    ]);
    expect(queueEntries(undefined)).toEqual([]);
  });
});

describe("keys", () => {
  const press = (key: string, more: Partial<Press> = {}): Press => ({ key, ctrl: false, meta: false, alt: false, typing: false, dialog: false, ...more });
  const pages = new Map([["j", "/jobs"]]);

  it("open the palette from anywhere but another dialog", () => {
    expect([press("k", { ctrl: true, typing: true }), press("k", { meta: true }), press("k", { ctrl: true, dialog: true })].map((p) => act(p, false, pages))).toEqual(["palette", "palette", null]);
  });
  it("that come before the palette does are typed into it", () => {
    const after = (typed: string, key: string) => {
      const found = ahead(typed, press(key));
      return typeof found === "object" && found !== null ? found.typed : typed;
    };
    expect(["k", "i", "x", "Backspace", "l"].reduce(after, "")).toBe("kil");
    expect([press("Enter"), press("k", { ctrl: true })].map((p) => ahead("a", p)), "it is on its way").toEqual([{ typed: "a" }, { typed: "a" }]);
    expect(ahead("a", press("Escape"))).toBe("given up");
    expect([press("ArrowDown"), press("c", { ctrl: true }), press("x", { dialog: true })].map((p) => ahead("a", p))).toEqual([null, null, null]);
  });
  it("mean nothing while somebody types", () => expect(["g", "?", "/"].map((k) => act(press(k, { typing: true }), false, pages))).toEqual([null, null, null]));
  it("lead to a page after g", () => {
    expect(act(press("g"), false, pages)).toBe("prefix");
    expect(act(press("j"), true, pages)).toEqual({ go: "/jobs" });
    expect([act(press("x"), true, pages), act(press("j"), false, pages)]).toEqual([null, null]);
  });
  it("leave the browser its own", () => expect(act(press("g", { ctrl: true }), false, pages)).toBeNull());
});
