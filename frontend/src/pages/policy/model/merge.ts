/** Two operators' changes of one version: what each did, what they share, and both together. */
import type { Json, Path } from "../types";
import { isMapping } from "./mapping";
import { edit, toPointer } from "./text";

export interface Difference {
  path: Path;
  before: unknown;
  after: unknown;
}

export interface Conflict {
  path: Path;
  base: unknown;
  mine: unknown;
  theirs: unknown;
}

export interface ThreeWay {
  mine: Difference[];
  theirs: Difference[];
  /** Places that both changed, each otherwise. */
  conflicts: Conflict[];
  /** Their changes that can be taken over without a question. */
  clean: Difference[];
}

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMapping(value)) return value === undefined ? null : value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

/** Every place at which the second says something else; a list counts as one value. */
export function differences(before: unknown, after: unknown, path: Path = []): Difference[] {
  if (isMapping(before) && isMapping(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => differences(before[key], after[key], [...path, key]));
  }
  return same(before, after) ? [] : [{ path, before, after }];
}

const within = (a: Path, b: Path): boolean => a.length <= b.length && a.every((part, at) => String(part) === String(b[at]));

export function threeWay(base: Json, mine: Json, theirs: Json): ThreeWay {
  const ours = differences(base, mine);
  const others = differences(base, theirs);
  const conflicts: Conflict[] = [];
  const clean: Difference[] = [];
  for (const other of others) {
    const touching = ours.filter((own) => within(own.path, other.path) || within(other.path, own.path));
    if (!touching.length) clean.push(other);
    else if (!touching.every((own) => same(own.path, other.path) && same(own.after, other.after))) {
      conflicts.push({ path: other.path, base: other.before, theirs: other.after, mine: at(mine, other.path) });
    }
  }
  return { mine: ours, theirs: others, conflicts, clean };
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((node, part) => (isMapping(node) ? node[String(part)] : undefined), value);
}

/** My text with theirs taken in: all that is clean, and of the conflicts those whose pointers are named. */
export function merged(text: string, found: ThreeWay, takeTheirs: ReadonlySet<string> = new Set()): string {
  const taken = found.conflicts.filter((c) => takeTheirs.has(toPointer(c.path))).map((c) => ({ path: c.path, after: c.theirs }));
  return [...found.clean, ...taken].reduce((made, change) => edit(made, change.path, change.after), text);
}

/** A value in one line, cut where it is long. */
export function brief(value: unknown, most = 80): string {
  if (value === undefined) return "nothing";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
