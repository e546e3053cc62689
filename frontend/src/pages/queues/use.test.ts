import { expect, it } from "vitest";
import type { SeriesEvent } from "../../charts/series";
import { linePath, policyMarks } from "./use";

it("marks what changed the policy, where it lies on the line", () => {
  const event = (at: string, kind: string, id: number) => ({ at, kind, id, text: "" }) as SeriesEvent;
  const events = [event("1970-01-01T00:00:50Z", "policy", 1), event("1970-01-01T00:01:50Z", "policy", 2), event("1970-01-01T00:02:00Z", "sub-cluster", 3), event("1970-01-01T00:02:09Z", "override", 4), event("1970-01-01T00:02:10Z", "policy", 5)];
  expect(policyMarks([100, 110, 120], events).map((m) => [m.event.id, m.x])).toEqual([[2, 50], [4, 100]]);
  expect(policyMarks([], events)).toEqual([]);
});
it("draws a line with gaps", () => expect(linePath([0, 1, null, 1], 1)).toBe("M0.0 96.0L33.3 4.0M100.0 4.0"));
