import { describe, expect, it } from "vitest";
import type { Me, Node } from "../../api/types";
import { handedOf } from "../../pages/fleet/duty";
import { matching, namesIn, type Entry } from "./find";
import { nodeOrderEntries, nodeOrderIn } from "./nodeorders";

const me: Me = { id: 1, username: "olga", role: "operator", queues: [], email: "" };
const node = (id: number, duty: Node["duty"], state: Node["state"] = "UP"): Node => ({ id, name: `west-${id}`, sub_cluster: "west", state, duty }) as Node;

describe("what is to be done with nodes", () => {
  it("is found by its first word, of any or of some", () => {
    expect(nodeOrderIn("dra", me)).toEqual({ act: "drain", of: "" });
    expect(nodeOrderIn("Drain node West-1", me)).toEqual({ act: "drain", of: "West-1" });
    expect(nodeOrderIn("back to work west", me)).toEqual({ act: "uncordon", of: "west" });
    expect(nodeOrderIn("Drain: west-1", me), "as it is called there").toEqual({ act: "drain", of: "west-1" });
    expect(["dr", "west", "", "drainer"].map((typed) => nodeOrderIn(typed, me))).toEqual([null, null, null, null]);
    expect(nodeOrderIn("drain", { ...me, role: "tenant" })).toBeNull();
  });
  it("is offered for those with which it can be done, and asked on their pages", () => {
    const nodes = [node(1, "in_service"), node(2, "draining"), node(3, "cordoned"), node(4, "decommissioned", "DECOMMISSIONED")];
    const found = nodeOrderEntries({ act: "drain", of: "" }, nodes);
    expect(found.map((e) => [e.name, e.note, e.to])).toEqual([["Drain: west-1", "west · in service", "/fleet/nodes/1"], ["Drain: west-3", "west · cordoned", "/fleet/nodes/3"]]);
    expect([handedOf(found[0]!.state, ["cordon", "drain"]), handedOf(found[0]!.state, ["uncordon"]), handedOf(null, ["drain"])]).toEqual(["drain", null, null]);
  });
});

describe("the word for what is looked for", () => {
  it("says of which kind", () => {
    expect(["node west", "Nodes west", "job etl", "jobs", "nodejs", "west"].map(namesIn)).toEqual([
      { jobs: null, nodes: "west" }, { jobs: null, nodes: "west" }, { jobs: "etl", nodes: null }, { jobs: "jobs", nodes: "jobs" }, { jobs: "nodejs", nodes: "nodejs" }, { jobs: "west", nodes: "west" },
    ]);
  });
  it("finds what stands below it", () => {
    const entries: Entry[] = [{ id: "1", group: "Queues", name: "root.prod" }, { id: "2", group: "Sub-clusters", name: "prod" }];
    expect(["queue prod", "sub-cluster prod", "prod"].map((typed) => matching(entries, typed).map((e) => e.id))).toEqual([["1"], ["2"], ["2", "1"]]);
  });
});
