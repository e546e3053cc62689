import { describe, expect, it } from "vitest";
import { add, receive, remove, restart, type Topics } from "./topics";

const empty: Topics = new Map();

describe("receive", () => {
  it("takes snapshots in order", () => {
    const one = receive(add(empty, "jobs"), { topic: "jobs", seq: 1, snapshot: "a" });
    const two = receive(one.topics, { topic: "jobs", seq: 2, snapshot: "b" });
    expect(two.changed).toBe("jobs");
    expect(two.resync).toEqual([]);
    expect(two.topics.get("jobs")?.snapshot).toBe("b");
  });

  it("applies a snapshot after a gap and asks for the topic again", () => {
    const one = receive(add(empty, "jobs"), { topic: "jobs", seq: 1, snapshot: "a" });
    const four = receive(one.topics, { topic: "jobs", seq: 4, snapshot: "d" });
    expect(four.topics.get("jobs")?.snapshot).toBe("d");
    expect(four.resync).toEqual(["jobs"]);
  });

  it("ignores old and repeated snapshots and topics nobody follows", () => {
    const two = receive(add(empty, "jobs"), { topic: "jobs", seq: 2, snapshot: "b" });
    for (const message of [{ topic: "jobs", seq: 2, snapshot: "x" }, { topic: "jobs", seq: 1, snapshot: "x" }, { topic: "other", seq: 3, snapshot: "x" }]) {
      const step = receive(two.topics, message);
      expect(step.topics).toBe(two.topics);
      expect(step.changed).toBeNull();
    }
  });

  it("keeps what is shown when the server cannot read, and clears the error with the next snapshot", () => {
    const one = receive(add(empty, "jobs"), { topic: "jobs", seq: 1, snapshot: "a" });
    const failed = receive(one.topics, { topic: "jobs", error: { status: 503, detail: "away" } });
    expect(failed.topics.get("jobs")).toMatchObject({ snapshot: "a", error: { status: 503 } });
    const back = receive(failed.topics, { topic: "jobs", seq: 2, snapshot: "b" });
    expect(back.topics.get("jobs")).toMatchObject({ snapshot: "b", error: null });
  });
});

describe("steps", () => {
  const told = (topics: Topics, seq: number, more: object) => receive(topics, { topic: "fleet", seq, ...more });
  const whole = told(add(empty, "fleet"), 1, { snapshot: "all" });

  it("hold after the message before them", () => {
    const two = told(whole.topics, 2, { delta: "a" });
    expect(two).toMatchObject({ changed: "fleet", resync: [] });
    expect(told(two.topics, 3, { delta: "b" }).changed).toBe("fleet");
    expect(told(two.topics, 2, { delta: "a" }).changed).toBeNull();
  });

  it("are left out after a gap until the whole has come, which is asked for once", () => {
    const gap = told(whole.topics, 3, { delta: "b" });
    expect(gap).toMatchObject({ changed: null, resync: ["fleet"] });
    const more = told(gap.topics, 4, { delta: "c" });
    expect(more).toMatchObject({ changed: null, resync: [] });
    const again = told(more.topics, 5, { snapshot: "all" });
    expect(again).toMatchObject({ changed: "fleet", resync: [] });
    expect(told(again.topics, 6, { delta: "d" }).changed).toBe("fleet");
  });

  it("mean nothing before the whole, also on a new connection", () => {
    expect(told(add(empty, "fleet"), 1, { delta: "a" })).toMatchObject({ changed: null, resync: ["fleet"] });
    expect(told(restart(whole.topics), 1, { delta: "a" }).changed).toBeNull();
  });
});

describe("restart", () => {
  it("numbers anew and keeps what is shown", () => {
    const nine = receive(add(empty, "jobs"), { topic: "jobs", seq: 1, snapshot: "a" });
    const again = receive(restart(nine.topics), { topic: "jobs", seq: 1, snapshot: "z" });
    expect(restart(nine.topics).get("jobs")?.snapshot).toBe("a");
    expect(again.changed).toBe("jobs");
    expect(again.resync).toEqual([]);
  });
});

it("removes", () => {
  expect(remove(add(empty, "jobs"), "jobs").size).toBe(0);
});
