import { describe, expect, it } from "vitest";
import { badges } from "./badges";

describe("badges of what is marked", () => {
  it("say the kind of each, and how many where they would overlap", () => {
    const found = [{ x: 10, kind: "policy" }, { x: 40, kind: "policy" }, { x: 48, kind: "sub-cluster" }, { x: 60, kind: "override" }];
    expect(badges(found, 12)).toEqual([
      { x: 10, text: "P", color: "accent" },
      { x: 44, text: "2", color: "muted" },
      { x: 60, text: "O", color: "st-lost" },
    ]);
  });

  it("keep the colour of what is of one kind", () => {
    expect(badges([{ x: 1, kind: "rollout" }, { x: 2, kind: "rollout" }], 12)).toEqual([{ x: 1.5, text: "2", color: "st-stopping" }]);
    expect(badges([], 12)).toEqual([]);
  });

  it("never lie closer than they are apart from the first of each", () => {
    const found = Array.from({ length: 30 }, (_, n) => ({ x: n * 5, kind: "policy" }));
    const at = badges(found, 12).map(({ x }) => x);
    expect(at.every((x, n) => n === 0 || x - at[n - 1]! >= 12)).toBe(true);
  });
});
