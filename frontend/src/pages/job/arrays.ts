/** Which values a task of a group with an array has, as `wire/arrays.py` says it: names in alphabetical order, the last changes first. */
import type { Job } from "../../api/types";

type Scalar = string | number | boolean;
type ArrayOfValues = Record<string, Scalar[]> | Record<string, Scalar>[];

/** "rate=0.1, seed=2"; nothing for a group without an array. */
export function valuesText(array: ArrayOfValues | undefined, index: number): string {
  if (!array) return "";
  if (Array.isArray(array)) return written(Object.entries(array[index] ?? {}));
  const names = Object.keys(array).sort();
  if (index < 0 || index >= names.reduce((n, name) => n * array[name]!.length, 1)) return "";
  const found: [string, Scalar][] = [];
  let left = index;
  for (const name of names.toReversed()) {
    const list = array[name]!;
    found.unshift([name, list[left % list.length]!]);
    left = Math.floor(left / list.length);
  }
  return written(found);
}

const written = (values: [string, Scalar][]) => values.map(([name, value]) => `${name}=${value}`).join(", ");

/** The array of a job's group, if it has one. */
export function arrayOf(job: Job, group: string): ArrayOfValues | undefined {
  const groups = (job.spec as { groups?: { name: string; array?: ArrayOfValues }[] } | undefined)?.groups ?? [];
  const found = groups.find((g) => g.name === group)?.array;
  return found && Object.keys(found).length ? found : undefined;
}
