/** Sub-clusters that do something otherwise than the others. */
import type { Json, Path } from "../types";
import { mapping } from "./mapping";
import { resolved, schemaAt, type Schema } from "./schema";

/** The cluster's value of a component's field: as the document says, else the default. */
export function clusters(root: Schema, document: Json, path: Path): unknown {
  const said = path.reduce<unknown>((v, part) => mapping(v)[String(part)], document.components);
  const schema = said === undefined ? schemaAt(root, ["components", ...path], document) : null;
  return schema ? resolved(root, schema).default : said;
}

/** "policy pack, batch 5": what a component's own part says; empty where it says nothing. */
export function otherwise(own: Json): string {
  const { parameters, ...beside } = own;
  const said = Object.entries({ ...beside, ...mapping(parameters) }).filter(([, value]) => value !== null && value !== undefined);
  return said.map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(", ") || "none" : String(value)}`).join(", ");
}
