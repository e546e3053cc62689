import { describe, expect, it } from "vitest";
import { ruleWords, RULES_OF_ROLLBACK, SURGE, surges } from "./rollout";

describe("how carefully a service is updated", () => {
  it("is as usual where nothing is said", () => {
    expect([ruleWords({}), surges({})]).toEqual([[], false]);
  });
  it("has nothing of what no number can be read of", () => {
    expect(ruleWords({ deadline_s: NaN })).toEqual([]);
  });
  it("is told of going back as far as that can go wrong", () => {
    expect(RULES_OF_ROLLBACK.map(({ option }) => option)).toEqual(["--max-unavailable", "--max-surge", "--min-ready"]);
  });
  it("is the same for hydractl", () => {
    expect(ruleWords({ ...SURGE, deadline_s: 0 })).toEqual(["--max-unavailable", "0", "--max-surge", "1", "--deadline", "0"]);
    expect([surges(SURGE), surges({ ...SURGE, max_surge: 2 })]).toEqual([true, false]);
  });
});
