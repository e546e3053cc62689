/** The text of a job file: read as YAML (JSON is a part of it), and where in it a field stands. */
import { isMap, isSeq, LineCounter, parseDocument, type Document } from "yaml";

export interface Parsed {
  value: Record<string, unknown> | null;
  /** What keeps the text from being a job file at all. */
  problems: { line: number; message: string }[];
  lineOf: (field: string) => number | null;
}

const NOWHERE = () => null;

export function parse(text: string): Parsed {
  const lines = new LineCounter();
  const doc = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: "core" });
  const problems = doc.errors.map((e) => ({ line: lines.linePos(e.pos[0]).line, message: e.message }));
  if (problems.length) return { value: null, problems, lineOf: NOWHERE };
  let value: unknown;
  try {
    value = doc.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    return { value: null, problems: [{ line: 1, message: String(cause instanceof Error ? cause.message : cause) }], lineOf: NOWHERE };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { value: null, problems: [{ line: 1, message: "A job file is a list of fields, such as `name: my-job` and `groups:`" }], lineOf: NOWHERE };
  }
  return { value: value as Record<string, unknown>, problems: [], lineOf: (field) => lineOf(doc, lines, field) };
}

/** "groups.0.command", "groups[0].command" and "groups/0/command" name the same field. */
export function fieldPath(field: string): (string | number)[] {
  return field.split(/[.[\]/]+/).filter((part) => part !== "").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** The line of a field, or of the nearest thing around it that the text has. */
function lineOf(doc: Document, lines: LineCounter, field: string): number | null {
  let node: unknown = doc.contents;
  let at: number | null = null;
  for (const part of fieldPath(field)) {
    if (isMap(node)) {
      const pair = node.items.find((item) => String((item.key as { value?: unknown }).value ?? item.key) === String(part));
      if (!pair) break;
      const range = (pair.key as { range?: [number, number, number] }).range;
      if (range) at = range[0];
      node = pair.value;
    } else if (isSeq(node) && typeof part === "number") {
      node = node.items[part];
      const range = (node as { range?: [number, number, number] } | undefined)?.range;
      if (range) at = range[0];
    } else break;
  }
  return at === null ? null : lines.linePos(at).line;
}

export interface LocalFile {
  path: string;
  source: string;
}

interface FileEntry {
  path?: unknown;
  source?: unknown;
  digest?: unknown;
}

/** Of the job, of its application master and of its groups. */
function fileLists(value: Record<string, unknown>): FileEntry[][] {
  const groups = Array.isArray(value.groups) ? (value.groups as Record<string, unknown>[]) : [];
  return [value, value.master as Record<string, unknown> | undefined, ...groups].flatMap((holder) => (holder && Array.isArray(holder.files) ? [holder.files as FileEntry[]] : []));
}

/** Files the job names by a local path: a browser must be given them. Each source once. */
export function localFiles(value: Record<string, unknown>): LocalFile[] {
  const found = new Map<string, LocalFile>();
  for (const list of fileLists(value)) {
    for (const entry of list) {
      if (entry && typeof entry.source === "string" && !entry.digest) {
        found.set(entry.source, { source: entry.source, path: typeof entry.path === "string" ? entry.path : entry.source });
      }
    }
  }
  return [...found.values()];
}

/** The job with each local path replaced by what was uploaded for it. */
export function withUploads(value: Record<string, unknown>, uploads: Map<string, { digest: string; size: number }>): Record<string, unknown> {
  const copy = structuredClone(value);
  for (const list of fileLists(copy)) {
    list.forEach((entry, i) => {
      const upload = typeof entry?.source === "string" ? uploads.get(entry.source) : undefined;
      if (!upload) return;
      const { source, ...rest } = entry as Record<string, unknown>;
      list[i] = { path: source, ...rest, ...upload } as FileEntry;
    });
  }
  return copy;
}

export const EXAMPLE = `# A job: its task groups, and what each of their tasks runs.
name: hello
queue: root.default
groups:
  - name: greet
    count: 4
    shell: true
    command: |
      for i in 1 2 3 4 5 6 7 8 9 10; do
        echo "task $HYDRA_TASK_INDEX of $HYDRA_TASK_COUNT on $HYDRA_NODE: step $i"
        sleep 1
      done
      echo "greetings from task $HYDRA_TASK_INDEX" > greeting.txt
    resources: {memory_mib: 64, vcores_milli: 250}
    outputs:
      - {name: greeting, path: greeting.txt}
`;
