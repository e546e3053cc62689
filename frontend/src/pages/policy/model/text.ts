/** The document as text: read, the place of a field in it, and edits that keep what they do not touch, comments included. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, stringify, type Document, type Pair } from "yaml";
import type { Json, Path } from "../types";

export interface Problem {
  from: number;
  to: number;
  line: number;
  field: string;
  message: string;
  remedy?: string;
}

export interface Place {
  from: number;
  to: number;
  line: number;
}

export interface Reading {
  value: Json | null;
  problems: Problem[];
  doc: Document;
  lines: LineCounter;
}

const WRITTEN = { lineWidth: 0, flowCollectionPadding: false } as const;

/** YAML, of which JSON is a part. `value` is null while the text is no mapping of fields. */
export function read(text: string): Reading {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: "core" });
  const problems: Problem[] = doc.errors.map((e) => ({
    from: e.pos[0], to: Math.max(e.pos[1], e.pos[0] + 1), line: lines.linePos(e.pos[0]).line, field: "", message: e.message,
  }));
  let value: unknown = null;
  if (!problems.length) {
    try {
      value = doc.toJS({ maxAliasCount: 100 });
    } catch (cause) {
      problems.push({ from: 0, to: 1, line: 1, field: "", message: cause instanceof Error ? cause.message : String(cause) });
    }
    if (!problems.length && (typeof value !== "object" || value === null || Array.isArray(value))) {
      problems.push({ from: 0, to: Math.min(1, text.length), line: 1, field: "", message: "A policy is a list of fields, such as `queues:`" });
      value = null;
    }
  }
  return { value: value as Json | null, problems, doc, lines };
}

export function write(value: unknown): string {
  return stringify(value, WRITTEN);
}

/** How people write it: the store keeps no order. What is not named here comes between, by name. */
const FIRST = ["queues", "policy", "guaranteed", "maximum", "weight", "ordering"];
const LAST = ["parameters", "partitions", "federation", "children", "components", "sub_clusters", "approval"];

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const rank = (key: string): number => (FIRST.includes(key) ? FIRST.indexOf(key) - 100 : LAST.includes(key) ? LAST.indexOf(key) + 100 : 0);
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b)).map(([key, one]) => [key, ordered(one)]));
}

/** A document as the server holds it, as text. */
export function documentText(document: Json): string {
  return write(ordered(document));
}

/** The text as hydractl takes it from a file: its first line says which version it was made from. */
export function fileText(text: string, version: number): string {
  return `# version ${version}\n${text.replace(/^# version \d+\b.*\n/, "")}`;
}

/** "queues.prod.children.etl" as the server writes it. Names have no dots. */
export function pathOf(field: string): Path {
  return field.split(".").filter((part) => part !== "");
}

/** RFC 6901. */
export function toPointer(path: Path): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

export function fromPointer(pointer: string): Path {
  return pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const keyOf = (pair: Pair): string => String(isScalar(pair.key) ? pair.key.value : pair.key);

/** Where the field stands; else the nearest thing around it that the text has; null in an empty text. */
export function placeOf({ doc, lines }: Reading, path: Path): Place | null {
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
  return found && { from: found[0], to: Math.max(found[1], found[0] + 1), line: lines.linePos(found[0]).line };
}

/** Keys down to the place in the text, with what is being written left out. */
export function pathAt({ doc }: Reading, offset: number): Path {
  const path: Path = [];
  let node: unknown = doc.contents;
  for (;;) {
    if (isMap(node)) {
      const pair = [...node.items].reverse().find((item) => ((item.key as { range?: number[] }).range?.[0] ?? Infinity) <= offset);
      if (!pair) return path;
      path.push(keyOf(pair));
      const range = (pair.key as { range?: number[] }).range;
      if (range && offset <= range[1]!) return path;
      node = pair.value;
    } else if (isSeq(node)) {
      const at = node.items.findLastIndex((item) => ((item as { range?: number[] } | null)?.range?.[0] ?? Infinity) <= offset);
      if (at < 0) return path;
      path.push(at);
      node = node.items[at];
    } else return path;
  }
}

/** What holds things that are somebody's own, also when they are empty. */
const NAMED = ["queues", "children", "sub_clusters"];

/** The text with one value set, or taken out (`undefined`). A mapping that is empty then goes as well, but not a queue or a sub-cluster. */
export function edit(text: string, path: Path, value: unknown): string {
  const { doc } = read(text);
  if (value === undefined) {
    doc.deleteIn(path);
    for (let up = path.slice(0, -1); up.length && !NAMED.includes(String(up.at(-2))); up = up.slice(0, -1)) {
      const around = doc.getIn(up);
      if (!isMap(around) || around.items.length) break;
      doc.deleteIn(up);
    }
  } else {
    grow(doc, path);
    const before = doc.getIn(path, true);
    if (isScalar(before) && (typeof value !== "object" || value === null)) {
      before.value = value;
      delete before.source;
      delete before.type;
    } else doc.setIn(path, doc.createNode(value));
  }
  return doc.toString(WRITTEN);
}

/** A null, such as of a queue that is written `etl:`, becomes a mapping where something is put below it. */
function grow(doc: Document, path: Path): void {
  for (let n = 1; n < path.length; n += 1) {
    const up = path.slice(0, n);
    const node = doc.getIn(up, true);
    if (node === null || node === undefined || (isScalar(node) && node.value === null)) doc.setIn(up, doc.createNode({}));
    else if (isMap(node) && !node.items.length) node.flow = false;
  }
}

/** The text with one key of a mapping called otherwise, in the same place. */
export function rename(text: string, path: Path, name: string): string {
  const { doc } = read(text);
  const holder = path.length > 1 ? doc.getIn(path.slice(0, -1)) : doc.contents;
  if (isMap(holder)) {
    const pair = holder.items.find((item) => keyOf(item) === String(path.at(-1)));
    if (pair) {
      if (isScalar(pair.key)) {
        pair.key.value = name;
        delete pair.key.source;
      } else pair.key = doc.createNode(name);
    }
  }
  return doc.toString(WRITTEN);
}
