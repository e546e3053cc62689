/** What may stand where one types: fields of the mapping around it, or values of the field on this line. */
import { choices, fieldsAt, helpFor, policies, schemaAt, variants, type Schema } from "./schema";
import { read } from "./text";
import type { Path } from "../types";

export interface Option {
  label: string;
  apply: string;
  detail: string;
  info: string;
  kind: "property" | "enum";
}

export interface Completion {
  from: number;
  options: Option[];
}

const KEY_LINE = /^(\s*)([\w-]+):(\s|$)/;

/** Keys down to the mapping that a line of this indent belongs to, by the lines above it: works in text that is not whole. */
function pathByIndent(lines: string[], line: number, indent: number): Path {
  const path: Path = [];
  let most = indent;
  for (let at = line - 1; at >= 0 && most > 0; at -= 1) {
    const found = KEY_LINE.exec(lines[at]!);
    if (!found || found[1]!.length >= most) continue;
    path.unshift(found[2]!);
    most = found[1]!.length;
  }
  return path;
}

/** `subClusters`: the names that the mappings of sub-clusters may have. */
export function complete(root: Schema, text: string, offset: number, explicit: boolean, subClusters: string[] = []): Completion | null {
  const before = text.slice(0, offset);
  const lines = before.split("\n");
  const no = lines.length - 1;
  const line = lines[no]!;
  const typing = /^(\s*)([\w-]*)$/.exec(line);
  const document = (read(text).value ?? read(without(text, no)).value) ?? undefined;
  if (typing) {
    if (!explicit && !typing[2]) return null;
    const path = pathByIndent(text.split("\n"), no, typing[1]!.length);
    return { from: offset - typing[2]!.length, options: [...fieldOptions(root, path, document), ...nameOptions(path, document, subClusters)] };
  }
  const value = /^(\s*)([\w-]+):\s+([\w-]*)$/.exec(line);
  if (!value) return null;
  const path = [...pathByIndent(lines, no, value[1]!.length), value[2]!];
  const schema = schemaAt(root, path, document);
  const holder = schemaAt(root, path.slice(0, -1), document);
  const words = path.at(-1) === "policy" && holder ? policies(root, holder) : schema ? choices(root, schema) : [];
  if (!words.length) return null;
  return { from: offset - value[3]!.length, options: words.map((word) => ({ label: word, apply: word, detail: "", info: "", kind: "enum" })) };
}

/** The line that is being typed keeps the whole from being read; what stands around it can be. */
function without(text: string, line: number): string {
  return text.split("\n").filter((_, at) => at !== line).join("\n");
}

/** The keys that the mapping at `path` has. */
function keysAt(path: Path, document: unknown): Set<string> {
  const value = path.reduce<unknown>((v, part) => (typeof v === "object" && v !== null ? (v as Record<string, unknown>)[String(part)] : undefined), document);
  return new Set(typeof value === "object" && value !== null ? Object.keys(value) : []);
}

function nameOptions(path: Path, document: unknown, subClusters: string[]): Option[] {
  if (path.length !== 1 || path[0] !== "sub_clusters") return [];
  const there = keysAt(path, document);
  return subClusters.filter((name) => !there.has(name)).map((name) => ({ label: name, apply: `${name}:`, detail: "sub-cluster", info: "", kind: "property" as const }));
}

function fieldOptions(root: Schema, path: Path, document: unknown): Option[] {
  const there = keysAt(path, document);
  return fieldsAt(root, path, document).filter(({ name, schema }) => !there.has(name) && !schema.deprecated).map(({ name, schema }) => {
    const help = helpFor(root, name, schema);
    const nested = variants(root, schema).every((one) => one.type === "object");
    return { label: name, apply: nested ? `${name}:` : `${name}: `, detail: help.facts[0] ?? "", info: [help.text, help.facts.slice(1).join(", ")].filter(Boolean).join(" – "), kind: "property" as const };
  });
}
