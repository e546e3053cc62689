import { describe, expect, it } from "vitest";
import type { Job, Me } from "../../api/types";
import { handedOf } from "../../pages/job/can";
import { matching, withoutTwins, type Entry } from "./find";
import { orderEntries, orderIn, queriesOf } from "./orders";

const me: Me = { id: 1, username: "ann", role: "tenant", queues: [], email: "" };
const viewer: Me = { ...me, role: "viewer" };
const job = (id: number, more: Partial<Job> = {}): Job => ({ id, name: `j${id}`, owner: "ann", queue: "root.a", kind: "batch", state: "RUNNING", ...more }) as Job;

describe("what is to be done with jobs", () => {
  it("is found by its first word, of all one's own jobs or of some", () => {
    expect(orderIn("kil", me)).toEqual({ what: "kill", of: "" });
    expect(orderIn("Kill job 42", me)).toEqual({ what: "kill", of: "42" });
    expect(orderIn("run again etl", me)).toEqual({ what: "retry", of: "etl" });
    expect(orderIn("change the pri", me)).toMatchObject({ what: "priority" });
    expect(orderIn("Priority of job etl", me)).toEqual({ what: "priority", of: "etl" });
    expect(["ki", "etl", "", "killer"].map((typed) => orderIn(typed, me))).toEqual([null, null, null, null]);
    expect(orderIn("kill", viewer)).toBeNull();
  });
  it("is asked of the server in few words", () => {
    expect(queriesOf({ what: "kill", of: "" }, me)).toEqual(["page_size=50&state=live&owner=ann"]);
    expect(queriesOf({ what: "retry", of: "etl" }, me)).toEqual(["page_size=50&state=FAILED&name=etl&owner=ann", "page_size=50&state=KILLED&name=etl&owner=ann"]);
    for (const who of [{ role: "operator" as const }, { queues: [{ path: "root.a", level: "admin" as const }] }]) expect(queriesOf({ what: "kill", of: "etl" }, { ...me, ...who })).toEqual(["page_size=50&state=live&name=etl"]);
    expect(queriesOf({ what: "scale", of: "" }, me)).toEqual(["page_size=50&state=live&kind=service&owner=ann"]);
  });
  it("is offered for jobs with which it can be done, the newest first, and asked on their pages", () => {
    const jobs = [job(1), job(2, { owner: "bob" }), job(3), job(4, { state: "KILLING" }), job(5, { state: "SUCCEEDED" })];
    const found = orderEntries({ what: "kill", of: "" }, jobs, me);
    expect(found.map((e) => [e.name, e.note, e.to])).toEqual([["Kill job 3", "j3 · running · root.a", "/jobs/3"], ["Kill job 1", "j1 · running · root.a", "/jobs/1"]]);
    expect([handedOf(found[0]!.state, ["priority", "kill"]), handedOf(found[0]!.state, ["retry"]), handedOf(null, ["kill"])]).toEqual(["kill", null, null]);
  });
  it("is offered once, by the page that does it", () => {
    const entry = (group: string, name: string): Entry => ({ id: group + name, group, name });
    const entries = [entry("On this page", "Kill job 1"), entry("On jobs", "Kill job 1"), entry("On jobs", "Kill job 2"), entry("Jobs", "Kill job 1")];
    expect(withoutTwins(entries).map((e) => e.id)).toEqual(["On this pageKill job 1", "On jobsKill job 2", "JobsKill job 1"]);
  });
});

it("finds what is called otherwise by words that are not shown", () => {
  const entries: Entry[] = [{ id: "a", group: "Actions", name: "Sign out", words: "log out" }, { id: "b", group: "Actions", name: "Dark colours", words: "theme" }];
  expect(matching(entries, "theme").map((e) => e.id)).toEqual(["b"]);
  expect(matching(entries, "log out").map((e) => e.id)).toEqual(["a"]);
});
