import { describe, expect, it } from "vitest";
import type { Job } from "../../api/types";
import { sorted } from "./columns";
import { address, command } from "./filters";
import { lookOf, lookQuery, lookWords, nextSort, USUAL } from "./look";

const job = (id: number, more: Partial<Job>) => ({ id, name: `j${id}`, tags: [], groups: [], started_at: null, finished_at: null, submitted_at: "2026-05-01T10:00:00Z", ...more }) as unknown as Job;
const ids = (jobs: Job[]) => jobs.map(({ id }) => id);

describe("how the job list is looked at", () => {
  it("is what the address says, else what was kept, else the usual", () => {
    expect(lookOf("?columns=took,evil,kind&sort=-took", "tags")).toEqual({ columns: ["kind", "took"], sort: "-took" });
    expect(lookOf("?sort=evil", "tags")).toEqual({ columns: ["tags"], sort: "" });
    expect(lookOf("", null).columns).toEqual(USUAL);
  });
  it("stands in the address beside the filters", () => {
    const look = lookQuery({ columns: ["state", "kind"], sort: "name" });
    expect(address({ node: "n1" }, "abc", look)).toBe("/jobs?node=n1&columns=state,kind&sort=name&cursor=abc");
    expect([lookQuery({ columns: USUAL, sort: "" }), lookOf("?columns=", null).columns]).toEqual(["", []]);
  });
  it("is the same from a shell", () => {
    expect(command({ node: "n1" }, lookWords({ columns: ["tasks", "kind"], sort: "-took" }))).toBe("hydractl jobs --node n1 --columns job,name,done,kind --limit 50 --sort=-took");
    expect(lookWords({ columns: USUAL, sort: "unknown" })).toEqual([]);
  });
});

describe("sorting", () => {
  const jobs = [job(1, { name: "b10", priority: 5, started_at: "2026-05-01T10:00:00Z", finished_at: "2026-05-01T10:01:00Z" }), job(2, { name: "b9", priority: 7 }), job(3, { name: "a", priority: -1, started_at: "2026-05-01T10:00:00Z" })];
  const now = Date.parse("2026-05-01T12:00:00Z");
  it("is by numbers and names, what has no value last either way", () => {
    expect(ids(sorted(jobs, "name", now))).toEqual([3, 2, 1]);
    expect(ids(sorted(jobs, "-priority", now))).toEqual([2, 1, 3]);
    expect([ids(sorted(jobs, "took", now)), ids(sorted(jobs, "-took", now))]).toEqual([[1, 3, 2], [3, 1, 2]]);
    expect(ids(sorted(jobs, "", now))).toEqual([1, 2, 3]);
  });
  it("is of tasks by what is done, or of a service runs, then by how many there are", () => {
    const tasks = (id: number, succeeded: number, count: number, more: Partial<Job> = {}, running = 0) => job(id, { kind: "batch", groups: [{ count, succeeded, running, pending: 0, failed: 0, killed: 0 }] as Job["groups"], ...more });
    const some = [tasks(1, 2, 1000), tasks(2, 30, 40), tasks(3, 3, 10), tasks(4, 3, 5), job(5, {}), tasks(6, 0, 9, { kind: "service" }, 4)];
    expect(ids(sorted(some, "tasks", now))).toEqual([1, 4, 3, 6, 2, 5]);
    expect(ids(sorted(some, "-tasks", now))).toEqual([2, 6, 3, 4, 1, 5]);
  });
  it("goes from rising to falling and back to what the server says", () => expect(["", "name", "-name", "took"].map((by) => nextSort(by, "name"))).toEqual(["name", "-name", "", "name"]));
});
