/** For tests alone. */
import type { Resources } from "./api/types";
import { AXES } from "./format/resources";

/** What is given, and nothing of all other resources. */
export const some = (given: Partial<Resources>): Resources => ({ ...(Object.fromEntries(AXES.map((axis) => [axis, 0])) as Resources), ...given });

/** A tab's store. */
export function memory(held = new Map<string, string>()): Storage {
  return {
    get length() { return held.size; },
    key: (i: number) => [...held.keys()][i] ?? null,
    getItem: (k: string) => held.get(k) ?? null,
    setItem: (k: string, v: string) => void held.set(k, v),
    removeItem: (k: string) => void held.delete(k),
  } as Storage;
}
