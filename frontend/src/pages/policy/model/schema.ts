/** The server's JSON Schema of the document, walked along a path: what a field is, what it may hold, what stands beside it. */
import type { Json, Path } from "../types";

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  deprecated?: boolean;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  ge?: number;
  le?: number;
  examples?: unknown[];
}

export interface Field {
  name: string;
  schema: Schema;
}

/** A reference followed; what stands beside it goes before what it leads to. */
export function resolved(root: Schema, schema: Schema): Schema {
  if (!schema.$ref) return schema;
  const target = root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {};
  const { $ref: _, ...beside } = schema;
  return { ...resolved(root, target), ...beside };
}

/** What the value may be, nulls aside. Of policies with parameters only the one that the value names, where it names one. */
export function variants(root: Schema, schema: Schema, value?: unknown): Schema[] {
  const own = resolved(root, schema);
  const choices = own.anyOf ?? own.oneOf;
  if (!choices) return [own];
  const found = choices.map((one) => resolved(root, one)).filter((one) => one.type !== "null");
  const named = (value as Json | undefined)?.policy;
  if (own.oneOf && typeof named === "string") {
    const chosen = found.filter((one) => policiesOf(one).includes(named));
    if (chosen.length) return chosen;
  }
  return found.flatMap((one) => (one.anyOf || one.oneOf ? variants(root, one, value) : [one]));
}

function policiesOf(schema: Schema): unknown[] {
  const policy = schema.properties?.policy;
  return policy?.enum ?? (policy && "const" in policy ? [policy.const] : []);
}

/** Names of a component's policies, in the schema's order. */
export function policies(root: Schema, component: Schema): string[] {
  return variants(root, component).flatMap(policiesOf).map(String);
}

function child(root: Schema, schema: Schema, key: string | number, value: unknown): Schema | null {
  for (const one of variants(root, schema, value)) {
    const found = one.properties?.[String(key)] ?? Object.values(one.patternProperties ?? {})[0] ??
      (typeof one.additionalProperties === "object" ? one.additionalProperties : undefined) ?? (one.type === "array" ? one.items : undefined);
    if (found) return found;
  }
  return null;
}

/** The schema of the place; null where the document may have none. */
export function schemaAt(root: Schema, path: Path, document?: unknown): Schema | null {
  let at: Schema | null = root;
  let value = document;
  for (const key of path) {
    at = at && child(root, at, key, value);
    value = typeof value === "object" && value !== null ? (value as Json)[String(key)] : undefined;
  }
  return at;
}

/** Fields that may stand in the mapping at this place, whether they do or not. */
export function fieldsAt(root: Schema, path: Path, document?: unknown): Field[] {
  const at = schemaAt(root, path, document);
  if (!at) return [];
  const value = path.reduce<unknown>((v, part) => (typeof v === "object" && v !== null ? (v as Json)[String(part)] : undefined), document);
  const found = new Map<string, Schema>();
  for (const one of variants(root, at, value)) {
    for (const [name, schema] of Object.entries(one.properties ?? {})) if (!found.has(name)) found.set(name, schema);
  }
  return [...found].map(([name, schema]) => ({ name, schema }));
}

/** Words a field takes; true and false of a switch; none where it takes anything else. */
export function choices(root: Schema, schema: Schema): string[] {
  return variants(root, schema).flatMap((one) => (one.enum ?? ("const" in one ? [one.const] : one.type === "boolean" ? [true, false] : [])).map(String));
}

const UNITS: [RegExp, string][] = [[/_s$/, "s"], [/_ms$/, "ms"], [/_mib$/, "MiB"], [/_milli$/, "thousandths of a core"], [/_share$|_zone$/, "share, 0 to 1"]];

/** What its name says it is counted in. */
export function unitOf(name: string): string {
  return UNITS.find(([ends]) => ends.test(name))?.[1] ?? "";
}

export function boundsOf(root: Schema, schema: Schema): { low?: number; high?: number; whole: boolean } {
  const one = variants(root, schema).find((v) => v.type === "number" || v.type === "integer") ?? {};
  return { low: one.minimum ?? one.exclusiveMinimum ?? one.ge, high: one.maximum ?? one.le, whole: one.type === "integer" };
}

/** What kind of value it takes, in a word. */
function kindOf(root: Schema, schema: Schema): string {
  const kinds = variants(root, schema).map((one) => {
    if (one.enum || "const" in one) return choices(root, one).join(" | ");
    return { number: "number", integer: "whole number", string: "text", boolean: "true | false", array: "list", object: "mapping" }[one.type ?? ""] ?? "";
  });
  return [...new Set(kinds.filter(Boolean))].join(" | ");
}

/** What an editor says of a field: its meaning, what it takes and within which bounds, and its default. */
export function helpFor(root: Schema, name: string, schema: Schema): { title: string; text: string; facts: string[] } {
  const own = resolved(root, schema);
  const { low, high } = boundsOf(root, schema);
  const facts = [kindOf(root, schema)];
  if (low !== undefined || high !== undefined) facts.push(`from ${low ?? "…"} to ${high ?? "…"}`);
  const unit = unitOf(name);
  if (unit) facts.push(`in ${unit}`);
  if (own.default !== undefined && own.default !== null && typeof own.default !== "object") facts.push(`default ${String(own.default)}`);
  if (own.deprecated) facts.push("an older way to say it");
  return { title: name, text: own.description ?? "", facts: facts.filter(Boolean) };
}
