/** A limit: one share for every resource, or a share or an amount of each. */
import { useState } from "react";
import { typed } from "../model/limits";
import { OF } from "../../../format/resources";
import { RESOURCES } from "../model/resources";
import { Typed } from "../parts";
import type { Json } from "../types";
import { labelOf, type FieldProps } from "./editing";

function shown(value: unknown): string {
  if (typeof value === "number" && value <= 1) return `${Number((100 * value).toFixed(4))}%`;
  return value === undefined || value === null ? "" : String(value);
}

export function LimitInput({ name, path, value, editing, description, error }: FieldProps & { description: string; error: string | undefined }) {
  const apart = typeof value === "object" && value !== null;
  const [split, setSplit] = useState(apart);
  const held = (apart ? value : {}) as Json;
  const fault = (resource: string) => editing.problems.find((p) => p.field === [...path, resource].join("."))?.message;
  const usual = name === "maximum" ? "all of the queue above" : "nothing";
  if (!apart && !split) {
    return (
      <div className="policy-limit">
        <Typed label={labelOf(name)} value={shown(value)} placeholder={usual} description={description} error={error} onCommit={(text) => editing.set(path, typed(text))} />
        <button type="button" className="linkish small" onClick={() => setSplit(true)}>by resource</button>
      </div>
    );
  }
  return (
    <fieldset className="policy-limit" aria-label={labelOf(name)}>
      <legend>{labelOf(name)}</legend>
      {description && <p className="muted small">{description}</p>}
      <div className="policy-three">
        {RESOURCES.map((resource) => (
          <Typed key={resource} label={OF[resource].word} value={shown(apart ? held[resource] : value)} placeholder={OF[resource].example} error={fault(resource) ?? (resource === "memory_mib" ? error : undefined)}
            onCommit={(text) => {
              const all = apart ? held : Object.fromEntries(RESOURCES.filter(() => value !== undefined && value !== null).map((r) => [r, value]));
              const next = { ...all, [resource]: typed(text) };
              const kept = Object.fromEntries(Object.entries(next).filter(([, v]) => v !== undefined));
              editing.set(path, Object.keys(kept).length ? kept : undefined);
            }} />
        ))}
      </div>
      <button type="button" className="linkish small" onClick={() => { setSplit(false); if (apart) editing.set(path, held.memory_mib ?? undefined); }}>one share for all</button>
    </fieldset>
  );
}
