import { describe, expect, it } from "vitest";
import type { Account, Component } from "../../api/types";
import { barred, endsSoon, facts, joins, queueWords, span, summary, until, worstFirst } from "./words";

const part = (name: string, verdict: Component["verdict"]) => ({ kind: "rm", name, verdict, text: "", remedy: "", facts: {} }) as Component;

describe("health", () => {
  it("tells the worst first and keeps the server's order", () =>
    expect(worstFirst([part("a", "good"), part("b", "warn"), part("c", "bad"), part("d", "warn")]).map((c) => c.name)).toEqual(["c", "b", "d", "a"]));
  it("says how many, in words", () => {
    expect(summary([part("a", "good"), part("b", "good")])).toBe("All 2 parts do their duty.");
    expect(summary([part("a", "bad"), part("b", "warn"), part("c", "warn")])).toBe("1 of 3 parts fails, 2 need a look.");
    expect(summary([part("a", "warn")])).toBe("1 needs a look.");
  });
  it("reads units from names and leaves out what is not known", () =>
    expect(facts({ answer_ms: 1.5, size_mib: 2048, up_s: 120, leader: null, epoch: 1200, host: "a" })).toEqual([
      ["answer", "1.5 ms"], ["size", "2,048 MiB"], ["up", "2 min"], ["epoch", "1,200"], ["host", "a"],
    ]));
});

describe("tokens", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  it("end", () => expect([until(null, now), until("2026-01-01T00:00:00Z", now), until("2026-01-03T00:00:00Z", now)]).toEqual(["never", "expired", "in 2 d"]));
  it("are shown when they end soon", () => expect([null, "2026-01-02T00:00:00Z", "2026-03-01T00:00:00Z"].map((expires_at) => endsSoon({ expires_at }, now))).toEqual([false, true, false]));
  it("are as long as hydractl says it", () => expect([86400 * 90, 7200, 90].map(span)).toEqual(["90d", "2h", "90s"]));
  it("say what they register", () => {
    const token = { id: 1, node: "", note: "", created_at: "", expires_at: null };
    expect(joins({ ...token, kind: "node", sub_cluster: "west" })).toBe("Nodes of west");
    expect(joins({ ...token, kind: "node", sub_cluster: "west", node: "n7" })).toBe("The node n7 of west, once");
    expect(joins({ ...token, kind: "sub_cluster", sub_cluster: "" })).toBe("One new sub-cluster");
  });
});

it("bars oneself", () => {
  const account = { username: "ada" } as Account;
  expect([barred(account, { username: "ada" }) !== "", barred(account, { username: "eve" })]).toEqual([true, ""]);
});

it("lists queues, by whom they were given, and how many more", () => {
  const given = { path: "root.prod", level: "admin", source: "grant" } as const;
  const named = { path: "root.prod.web", level: "submit", source: "policy" } as const;
  expect(queueWords({ queues: [given, named, { ...named, level: "admin" }], queues_left_out: 1200 })).toBe("root.prod (admin), root.prod.web (policy), root.prod.web (admin, policy), 1,200 more");
  expect(queueWords({ queues: [{ ...given, level: "submit" }], queues_left_out: 0 })).toBe("root.prod");
});
