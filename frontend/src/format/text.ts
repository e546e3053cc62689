/** A text in YAML, of which JSON is a part: read, and where in it a field stands. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Pair } from "yaml";
import type { FieldError } from "../api/types";

/** Characters from `from` up to `to`; `line` and `column` of the first, from 1. */
export interface Place {
  from: number;
  to: number;
  line: number;
  column: number;
}

export interface Reading {
  /** Null while the text is no mapping of fields; then `problems` say why. */
  value: Record<string, unknown> | null;
  problems: (Place & { message: string })[];
  doc: Document;
  lines: LineCounter;
}

/** `otherwise`: what to say of a text that is no mapping. */
export function readText(text: string, otherwise: string): Reading {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: "core" });
  const problems = doc.errors.map((e) => ({ ...spot(lines, e.pos[0], e.pos[1]), message: e.message }));
  let value: unknown = null;
  if (!problems.length) {
    try {
      value = doc.toJS({ maxAliasCount: 100 });
    } catch (cause) {
      problems.push({ ...spot(lines, 0, 1), message: cause instanceof Error ? cause.message : String(cause) });
    }
    if (!problems.length && (typeof value !== "object" || value === null || Array.isArray(value))) {
      problems.push({ ...spot(lines, 0, Math.min(1, text.length)), message: otherwise });
      value = null;
    }
  }
  return { value: value as Record<string, unknown> | null, problems, doc, lines };
}

function spot(lines: LineCounter, from: number, to: number): Place {
  const { line, col } = lines.linePos(from);
  return { from, to: Math.max(to, from + 1), line: Math.max(line, 1), column: Math.max(col, 1) };
}

export const keyOf = (pair: Pair): string => String(isScalar(pair.key) ? pair.key.value : pair.key);

/** Where the field stands; else the nearest thing around it that the text has; null where there is none. */
export function placeOf({ doc, lines }: Pick<Reading, "doc" | "lines">, path: readonly (string | number)[]): Place | null {
  let node: unknown = doc.contents;
  let found: [number, number] | null = null;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => keyOf(item) === String(part));
      if (!pair) break;
      const range = (pair.key as { range?: [number, number, number] }).range;
      if (range) found = [range[0], range[1]];
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      const range = (node as { range?: [number, number, number] } | undefined)?.range;
      if (range) found = [range[0], range[1]];
    } else break;
  }
  return found && spot(lines, found[0], found[1]);
}

/** "groups.0.count (group map, line 4, column 12)": what hydractl and the API say of an error's place. */
export function whereOf({ field, group, line, column }: Pick<FieldError, "field" | "group" | "line" | "column">): string {
  const known = [group && `group ${group}`, line && `line ${line}, column ${column}`].filter(Boolean).join(", ");
  return known ? `${field} (${known})`.trim() : field;
}
