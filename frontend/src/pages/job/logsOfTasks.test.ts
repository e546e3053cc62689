import { expect, test } from "vitest";
import type { Task } from "../../api/types";
import { inOrder } from "./LogsOfTasks";

const task = (index: number, state: string, container: string | null = `c${index}`) => ({ group: "map", index, state, container }) as Task;

test("failed tasks come first, and those without a log not at all", () => {
  const found = inOrder([task(0, "SUCCEEDED"), task(1, "PENDING", null), task(2, "FAILED"), task(3, "RUNNING")]);
  expect(found.map((t) => t.index)).toEqual([2, 0, 3]);
});
