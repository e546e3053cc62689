/** The document as text: read, the place of a field in it, and edits that keep what they do not touch, comments included. */
import { isMap, isScalar, isSeq, stringify, type Document, type LineCounter } from "yaml";
import { keyOf, readText, type Place } from "../../../format/text";
import type { Json, Path } from "../types";

export interface Problem extends Place {
  field: string;
  message: string;
  remedy?: string;
}

export interface Reading {
  value: Json | null;
  problems: Problem[];
  doc: Document;
  lines: LineCounter;
}

const WRITTEN = { lineWidth: 0, flowCollectionPadding: false } as const;

/** `value` is null while the text is no mapping of fields. */
export function read(text: string): Reading {
  const found = readText(text, "A policy is a list of fields, such as `queues:`");
  return { ...found, value: found.value as Json | null, problems: found.problems.map((p) => ({ ...p, field: "" })) };
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
