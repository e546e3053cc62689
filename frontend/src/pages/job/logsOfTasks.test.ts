import { expect, test } from "vitest";
import type { Revision, Task } from "../../api/types";
import { hitAt } from "./Find";
import { hitsIn, inOrder, seek } from "./LogsOfTasks";
import { before } from "./rollout";

const task = (index: number, state: string, container: string | null = `c${index}`) => ({ group: "map", index, state, container }) as Task;

test("failed tasks come first, and those without a log not at all", () => {
  const found = inOrder([task(0, "SUCCEEDED"), task(1, "PENDING", null), task(2, "FAILED"), task(3, "RUNNING")]);
  expect(found.map((t) => t.index)).toEqual([2, 0, 3]);
});

test("text is found in the logs of all tasks, one after the other, whatever the case", () => {
  const hits = hitsIn([["an Error", "fine"], [], ["fine", "error: x"]], "error");
  expect(hits).toEqual([{ task: 0, line: 0 }, { task: 2, line: 1 }]);
  expect(hitsIn([["a"]], "")).toEqual([]);
  expect([hitAt(-1, 2), hitAt(0, 2), hitAt(3, 2), hitAt(1, 0)]).toEqual([1, 0, 1, undefined]);
});

test("a line that is found is gone to once, the page only for another task's log", () => {
  const moves: string[] = [];
  const at = (top: number, height: number) => ({ getBoundingClientRect: () => ({ top, height }) });
  const box = { ...at(1000, 400), scrollTop: 50, scrollIntoView: ({ block }: { block: string }) => moves.push(block) };
  const go = (from: Parameters<typeof seek>[0], finding: string, name: string) => seek(from, { finding, name }, box as unknown as HTMLElement, at(1300, 20) as unknown as Element);
  const first = go({ finding: "", name: "" }, "0 error", "map/0");
  expect([first, box.scrollTop, moves]).toEqual([{ finding: "0 error", name: "map/0" }, 160, ["nearest"]]);
  expect([go(first, "0 error", "map/1"), box.scrollTop, moves.length]).toEqual([first, 160, 1]);
  const next = go(first, "1 error", "map/0");
  expect([box.scrollTop, moves.length]).toEqual([270, 1]);
  go(next, "2 error", "map/1");
  expect(moves).toEqual(["nearest", "nearest"]);
});

test("a service goes back to any revision but its own; while one is rolled out to the one before alone", () => {
  const revisions = [4, 3, 2, 1].map((revision) => ({ revision }) as Revision);
  const rollout = { revision: 4, previous: 3 } as NonNullable<Parameters<typeof before>[1]["rollout"]>;
  expect(before(revisions, { revision: 4, rollout: null }).map((r) => r.revision)).toEqual([3, 2, 1]);
  expect(before(revisions, { revision: 4, rollout }).map((r) => r.revision)).toEqual([3]);
});
