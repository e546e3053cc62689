/** A job file as a form sees it: fields read from its text, and changes written into the text, comments kept. Pure. */
import { Document, isMap, isScalar, isSeq, parseDocument, YAMLMap } from "yaml";

export type Path = (string | number)[];

/** What a field holds, as text; "" where the file says nothing of it. */
export function textAt(value: unknown, path: Path): string {
  const found = at(value, path);
  if (found === undefined || found === null) return "";
  return typeof found === "object" ? "" : String(found);
}

export function at(value: unknown, path: Path): unknown {
  let here = value;
  for (const part of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<string | number, unknown>)[part];
  }
  return here;
}

/** The text with that field set, or removed where `value` is undefined. A text that is no YAML stays as it is. */
export function withField(text: string, path: Path, value: unknown): string {
  const doc = parseDocument(text, { schema: "core" });
  if (doc.errors.length) return text;
  if (doc.contents === null || isScalar(doc.contents)) doc.contents = new YAMLMap() as unknown as Document.Parsed["contents"];
  if (value === undefined) remove(doc, path);
  else set(doc, path, value);
  return doc.toString({ lineWidth: 0 });
}

function set(doc: Document, path: Path, value: unknown): void {
  for (let i = 1; i < path.length; i++) { // setIn makes mappings of what is missing, also where a list belongs
    const holder = path.slice(0, i);
    const found = doc.getIn(holder);
    if (found === undefined || found === null) doc.setIn(holder, doc.createNode(typeof path[i] === "number" ? [] : {}));
  }
  const known = doc.getIn(path, true);
  if (isScalar(known) && (typeof value !== "object" || value === null)) {
    known.value = value; // its comment stays
    if (typeof value === "string" && value.includes("\n")) known.type = "BLOCK_LITERAL";
    else delete known.type;
    return;
  }
  const node = doc.createNode(value);
  if (isScalar(node) && typeof value === "string" && value.includes("\n")) node.type = "BLOCK_LITERAL";
  if ((isSeq(node) || isMap(node)) && short(value)) node.flow = true;
  doc.setIn(path, node);
}

function short(value: unknown): boolean {
  return JSON.stringify(value).length <= 60 && !JSON.stringify(value).includes("{\"");
}

/** Remove a field, and mappings that are left empty by it. */
function remove(doc: Document, path: Path): void {
  if (doc.getIn(path, true) === undefined) return;
  doc.deleteIn(path);
  const holder = path.slice(0, -1);
  const left = holder.length ? doc.getIn(holder, true) : undefined;
  if (isMap(left) && left.items.length === 0 && typeof holder.at(-1) === "string") doc.deleteIn(holder);
}

/** One more element at the end of a list. */
export function withAdded(text: string, path: Path, value: unknown): string {
  const list = at(parseDocument(text, { schema: "core" }).toJS(), path);
  const length = Array.isArray(list) ? list.length : 0;
  return length ? withField(text, [...path, length], value) : withField(text, path, [value]);
}

/** A whole number, or a number, or what was typed where it is neither: the server says what is wrong with it. */
export function numberOr(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const n = Number(trimmed);
  return Number.isFinite(n) ? n : trimmed;
}

/** Words between commas or spaces; undefined for none. */
export function words(text: string): string[] | undefined {
  const found = text.split(/[\s,]+/).filter(Boolean);
  return found.length ? found : undefined;
}

/** "name: path" per line, as outputs are written in the form; undefined for none. */
export function readPairs(text: string): { name: string; path: string }[] | undefined {
  const found = text.split("\n").map((l) => l.trim()).filter(Boolean).map((line) => {
    const cut = line.indexOf(":");
    return cut < 0 ? { name: line, path: line } : { name: line.slice(0, cut).trim(), path: line.slice(cut + 1).trim() };
  });
  return found.length ? found : undefined;
}

export function writePairs(value: unknown): string {
  if (!Array.isArray(value)) return "";
  return value.map((o: { name?: unknown; path?: unknown }) => `${String(o?.name ?? "")}: ${String(o?.path ?? "")}`).join("\n");
}

/** A stored specification as a file to submit again: what is only a default is left out. */
export function fromSpec(spec: Record<string, unknown>): string {
  const job = lean(spec, JOB_DEFAULTS);
  if (spec.kind === "application") delete job.groups;
  else if (Array.isArray(spec.groups)) job.groups = spec.groups.map((g: Record<string, unknown>) => lean(g, GROUP_DEFAULTS));
  const doc = new Document(job);
  return doc.toString({ lineWidth: 0, blockQuote: "literal" });
}

const JOB_DEFAULTS: Record<string, unknown> = { kind: "batch", priority: null, tags: [], notify: [], files: [], master: null };
const GROUP_DEFAULTS: Record<string, unknown> = {
  count: 1, shell: false, env: {}, secrets: [], files: [], inputs: [], outputs: [], after: [], retries: 0, timeout_s: 0, grace_s: 5, execution_type: "guaranteed",
  locality: { nodes: [], racks: [], relax: true }, node_labels: "", partition: null, placement: null, gang: false, parallelism: 0,
  estimated_duration_s: 0, ports: [], health_check: null, array: {},
};

function lean(value: Record<string, unknown>, defaults: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([k, v]) => !(k in defaults && JSON.stringify(v) === JSON.stringify(defaults[k]))));
}
