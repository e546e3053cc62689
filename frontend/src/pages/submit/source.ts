/** The text of a job file: read as YAML (JSON is a part of it), and where in it a field stands. */
import { fieldPath } from "./errors";
import type { FieldError } from "../../api/types";
import { hydractl } from "../../format/shell";
import { placeOf, readText, type Place, type Reading } from "../../format/text";

export interface Parsed {
  value: Record<string, unknown> | null;
  /** What keeps the text from being a job file at all. */
  problems: Reading["problems"];
  placeOf: (field: string) => Place | null;
}

export function parse(text: string): Parsed {
  const reading = readText(text, "A job file is a list of fields, such as `name: my-job` and `groups:`");
  return { value: reading.value, problems: reading.problems, placeOf: (field) => (reading.value ? placeOf(reading, fieldPath(field)) : null) };
}

/** Errors with their places in the text as it is written here, in its order. */
export function located(errors: FieldError[], parsed: Parsed): FieldError[] {
  const placed = errors.map((e) => {
    const place = parsed.placeOf(e.field);
    return place ? { ...e, line: place.line, column: place.column } : e;
  });
  return placed.sort((a, b) => a.line - b.line || a.column - b.column);
}

/** A parameter that the job file declares; what its field shows, and whether it has to be given. */
export interface Parameter {
  name: string;
  help: string;
  usual: string;
  needed: boolean;
}

/** A default alone, nothing at all, or a type, a default and a help. */
export function parametersOf(value: Record<string, unknown>): Parameter[] {
  const declared = value.parameters;
  if (typeof declared !== "object" || declared === null || Array.isArray(declared)) return [];
  return Object.entries(declared).map(([name, said]: [string, unknown]) => {
    const whole = typeof said === "object" && said !== null ? (said as { default?: unknown; help?: unknown }) : { default: said };
    const usual = whole.default ?? null;
    return { name, help: typeof whole.help === "string" ? whole.help : "", usual: usual === null ? "" : String(usual), needed: usual === null };
  });
}

/** The job with what was typed for its parameters; of what was left empty the default holds. */
export function withValues(value: Record<string, unknown>, typed: Record<string, string>): Record<string, unknown> {
  const known = new Set(parametersOf(value).map((p) => p.name));
  const given = Object.entries(typed).filter(([name, text]) => known.has(name) && text !== "");
  return given.length ? { ...value, set: { ...(value.set as object | undefined), ...Object.fromEntries(given) } } : value;
}

export function submitCommand(value: Record<string, unknown> | null, typed: Record<string, string>, update?: number, more: string[] = []): string {
  const given = value ? parametersOf(value).filter(({ name }) => typed[name]) : [];
  return hydractl(...(update === undefined ? ["submit"] : ["update", update]), "job.yaml", ...given.flatMap(({ name }) => ["--set", `${name}=${typed[name]}`]), ...more);
}

export interface LocalFile {
  path: string;
  source: string;
}

/** What came of a file that was sent. `mode`: where its beginning says that it is a program; a browser cannot tell otherwise. */
export interface Upload {
  digest: string;
  size: number;
  mode?: number;
}

export interface FileEntry {
  path?: unknown;
  source?: unknown;
  digest?: unknown;
  mode?: unknown;
}

/** A browser is given files, not folders. */
export function isFolder({ path, source }: LocalFile): boolean {
  return [path, source].some((each) => /(^|\/)\.{0,2}$/.test(each));
}

/** The package `hydra`, which masters in Python import, is brought by hydractl and the SDK alone. */
export function lacksSdk(value: Record<string, unknown>): boolean {
  if (value.kind !== "application") return false;
  const files = (value.master as { files?: unknown } | null | undefined)?.files;
  return !(Array.isArray(files) && (files as FileEntry[]).some((entry) => String(entry?.path ?? "").split("/")[0] === "hydra"));
}

/** An entry that names what was sent for its source; a mode that it says itself holds. */
export function uploaded({ source, ...rest }: FileEntry, { mode, ...upload }: Upload): Record<string, unknown> {
  const wanted = rest.mode ?? mode;
  return { path: source, ...rest, ...upload, ...(wanted === undefined ? {} : { mode: wanted }) };
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
export function withUploads(value: Record<string, unknown>, uploads: Map<string, Upload>): Record<string, unknown> {
  const copy = structuredClone(value);
  for (const list of fileLists(copy)) {
    list.forEach((entry, i) => {
      const upload = typeof entry?.source === "string" ? uploads.get(entry.source) : undefined;
      if (upload) list[i] = uploaded(entry, upload);
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
