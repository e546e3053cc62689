/** A field of the document by what the schema says of it: a switch, a choice, a number with its unit, a limit, a list. */
import { NativeSelect } from "@mantine/core";
import { useId } from "react";
import { mapping } from "../model/mapping";
import { brief, same } from "../model/merge";
import { boundsOf, choices, fieldsAt, helpFor, policies, resolved, unitOf, variants, type Schema } from "../model/schema";
import { read, write } from "../model/text";
import type { Json, Path } from "../types";
import { Typed } from "../parts";
import { labelOf, type Editing, type FieldProps } from "./editing";
import { LimitInput } from "./LimitInput";

/** Help without the marks of code. */
const plain = (text: string): string => text.replaceAll("`", "");

export function FieldInput(props: FieldProps) {
  const { name, schema, path, value, before, editing, words, above } = props;
  const kinds = variants(editing.root, schema, value);
  const error = editing.problems.find((p) => p.field === path.join("."))?.message;
  const help = helpFor(editing.root, name, schema);
  const was = before !== undefined && !same(before, value) ? `was ${brief(before === null ? "nothing" : before, 40)}` : "";
  const description = [plain(help.text), was].filter(Boolean).join(" · ");
  const set = (next: unknown) => editing.set(path, next);
  if (path.at(-1) === "guaranteed" || path.at(-1) === "maximum") return <LimitInput {...props} description={description} error={error} />;
  if (kinds.some((kind) => kind.oneOf || kind.properties?.policy) || (kinds.length && kinds[0]!.properties && kinds[0]!.type === "object")) return <Nested {...props} />;
  const options = words ?? choices(editing.root, schema);
  if (options.length) return <Choice label={labelOf(name)} description={description} error={error} options={options} schema={schema} editing={editing} value={value} above={above} set={set} />;
  if (kinds.some((kind) => kind.type === "array")) return <List label={labelOf(name)} description={description} error={error} schema={kinds[0]!} editing={editing} value={value ?? above} set={set} />;
  if (kinds.some((kind) => kind.type === "number" || kind.type === "integer")) return <NumberField {...props} description={description} error={error} set={set} />;
  if (kinds.some((kind) => kind.type === "object")) {
    return <Typed label={labelOf(name)} value={value && Object.keys(value).length ? write(value).trim().replaceAll("\n", ", ") : ""} placeholder="west: 1, east: 2" description={description} error={error}
      onCommit={(text) => set(text ? read(`{${text}}`).value ?? text : undefined)} />;
  }
  return <Typed label={labelOf(name)} value={value === undefined || value === null ? "" : String(value)} description={description} error={error} onCommit={(text) => set(text || undefined)} />;
}

function fallback(schema: Schema, root: Schema): string {
  const own = resolved(root, schema).default;
  return own === null || own === undefined ? "as above it" : Array.isArray(own) ? own.join(", ") || "none" : String(own);
}

function Choice({ label, description, error, options, schema, editing, value, above, set }: {
  label: string; description: string; error: string | undefined; options: string[]; schema: Schema; editing: Editing; value: unknown; above: unknown; set: (v: unknown) => void;
}) {
  const truth: Record<string, unknown> = options.includes("true") ? { true: true, false: false } : {};
  const word = (option: string) => ({ true: "yes", false: "no", "": "the nodes no partition takes" })[option] ?? option;
  const usual = fallback(schema, editing.root);
  const none = above !== undefined ? `${word(String(above))} (the cluster's)` : usual === "as above it" ? usual : `${word(usual)} (default)`;
  return (
    <NativeSelect label={label} description={description || undefined} error={error} value={value === undefined || value === null ? "-" : String(value)}
      data={[{ value: "-", label: none }, ...options.map((option) => ({ value: option, label: word(option) }))]}
      onChange={(e) => set(e.currentTarget.value === "-" ? undefined : (truth[e.currentTarget.value] ?? e.currentTarget.value))} />
  );
}

function NumberField({ name, schema, path, value, above, editing, description, error, set }: FieldProps & { description: string; error: string | undefined; set: (v: unknown) => void }) {
  const { low, high, whole } = boundsOf(editing.root, schema);
  const bounds = low !== undefined && high !== undefined && high < 1e6 ? `${low} to ${high}` : "";
  const unit = unitOf(name);
  const usual = resolved(editing.root, schema).default;
  return (
    <Typed label={labelOf(name)} value={value === undefined || value === null ? "" : String(value)} inputMode={whole ? "numeric" : "decimal"} {...(unit && !unit.startsWith("share") && { suffix: unit })}
      placeholder={above !== undefined ? `${String(above)} (the cluster's)` : usual === undefined || usual === null ? (path[0] === "queues" ? "none, or as above it" : "none") : `${String(usual)} (default)`} description={[description, typeof usual === "number" ? `default ${usual}` : "", bounds].filter(Boolean).join(" · ")} error={error}
      onCommit={(text) => set(text === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text)} />
  );
}

function List({ label, description, error, schema, editing, value, set }: {
  label: string; description: string; error: string | undefined; schema: Schema; editing: Editing; value: unknown; set: (v: unknown) => void;
}) {
  const options = schema.items ? choices(editing.root, schema.items) : [];
  const held = Array.isArray(value) ? value.map(String) : [];
  const id = useId();
  if (options.length) {
    return (
      <div className="policy-list" role="group" aria-labelledby={id}>
        <span id={id}>{label}</span>
        {description && <p className="muted small">{description}</p>}
        {options.map((option) => (
          <label key={option} className="row"><input type="checkbox" checked={held.includes(option)} onChange={(e) => set(options.filter((o) => (o === option ? e.currentTarget.checked : held.includes(o))))} />{option}</label>
        ))}
      </div>
    );
  }
  return <Typed label={label} value={held.join(", ")} placeholder="none" description={description} error={error} onCommit={(text) => set(text ? text.split(/[\s,]+/).filter(Boolean) : undefined)} />;
}

/** A policy by name with its parameters, or a mapping of fields. */
function Nested({ name, schema, path, value, before, editing }: FieldProps) {
  const held = mapping(value);
  const was = mapping(before);
  const names = policies(editing.root, schema);
  const usual = (resolved(editing.root, schema).default as Json | undefined) ?? {};
  const chosen = String(held.policy ?? usual.policy ?? names[0] ?? "");
  const shown = held.policy === undefined && names.length ? { ...held, policy: chosen } : held;
  const document = withValue(editing.document, path, shown);
  if (value === undefined && !names.length && name === "federation") {
    return <div className="row wrap"><span className="muted small grow">{helpFor(editing.root, name, schema).text}</span><button type="button" className="linkish" onClick={() => editing.set(path, { routing: { policy: "least_loaded" } })}>Give it its own</button></div>;
  }
  const fields = fieldsAt(editing.root, path, document).filter((f) => f.name !== "policy" && f.name !== "parameters");
  const parameters = names.length ? fieldsAt(editing.root, [...path, "parameters"], document) : [];
  const about = variants(editing.root, schema, shown)[0]?.description ?? "";
  return (
    <div className="policy-nested">
      {names.length > 0 && (
        <NativeSelect label={path[0] === "components" ? "Policy" : `${labelOf(name)}: policy`} description={plain(about)} value={chosen} data={names} onChange={(e) => editing.set(path, { policy: e.currentTarget.value })} />
      )}
      <div className="policy-fields">
        {parameters.map((f) => <FieldInput key={f.name} name={f.name} schema={f.schema} path={[...path, "parameters", f.name]} value={(held.parameters as Json | undefined)?.[f.name]} before={(was.parameters as Json | undefined)?.[f.name]} editing={editing} />)}
        {fields.map((f) => <FieldInput key={f.name} name={f.name} schema={f.schema} path={[...path, f.name]} value={held[f.name]} before={was[f.name]} editing={editing} />)}
      </div>
      {name === "federation" && <button type="button" className="linkish" onClick={() => editing.set(path, undefined)}>As above it again</button>}
    </div>
  );
}

function withValue(document: Json, path: Path, value: unknown): Json {
  const [first, ...rest] = path;
  const held = document[String(first)];
  return { ...document, [String(first)]: rest.length ? withValue((typeof held === "object" && held !== null ? held : {}) as Json, rest, value) : value };
}
