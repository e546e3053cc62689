/** One queue's fields, as the document says them; what it leaves out says what holds instead. */
import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { Confirm } from "../../../ui/parts";
import { limitOf, shareWord } from "../model/limits";
import { fieldsAt } from "../model/schema";
import { NAME, type QueueRow } from "../model/tree";
import type { Json, Path } from "../types";
import type { Editing } from "./editing";
import { FieldInput } from "./FieldInput";
import { Sums } from "./QueueTree";

const GROUPS: { title: string; fields: string[] }[] = [
  { title: "Share", fields: ["guaranteed", "maximum", "weight", "preemptable"] },
  { title: "Limits", fields: ["user_maximum", "max_running_jobs", "max_running_jobs_per_user", "max_live_jobs_per_user", "max_live_tasks_per_user", "max_live_mib_per_user", "max_am_share"] },
  { title: "Jobs", fields: ["ordering", "state", "default_priority", "max_priority", "default_partition"] },
  { title: "Rights", fields: ["submit", "administer", "open_to_all"] },
];

interface Props {
  row: QueueRow;
  rows: QueueRow[];
  before: Json | undefined;
  editing: Editing;
  go: (path: Path) => void;
  /** Without them it is only read. */
  changes: { rename: (name: string) => void; remove: () => void } | undefined;
}

export function QueueForm({ row, rows, before, editing, go, changes }: Props) {
  const parent = row.path.slice(0, -2);
  const beside = rows.filter((one) => one.depth === row.depth && one.path.slice(0, -1).join("/") === row.path.slice(0, -1).join("/"));
  const below = rows.filter((one) => one.path.length === row.path.length + 2 && one.name.startsWith(`${row.name}.`));
  const [asking, setAsking] = useState<"rename" | "remove" | null>(null);
  const taken = new Set(beside.map((one) => String(one.path.at(-1))));
  const above = row.name.split(".").slice(0, -1).join(".");
  return (
    <section className="card policy-queue" aria-label={`Queue ${row.name}`}>
      <header>
        <h2 className="wrap-any">{row.name}</h2>
        {parent.length > 1 && <Button variant="subtle" size="compact-sm" onClick={() => go(parent)}>Up</Button>}
        {changes && <Button variant="default" size="compact-sm" onClick={() => setAsking("rename")}>Rename…</Button>}
        {changes && <Button variant="default" size="compact-sm" onClick={() => setAsking("remove")}>Remove…</Button>}
      </header>
      <div className="body">
        <div className="policy-beside small">
          <span>Beside each other below <b>{above}</b>: <Sums siblings={beside.map((one) => one.queue)} /></span>
          <Siblings rows={beside} chosen={row} />
          {below.length > 0 && <span>Below <b>{row.name}</b>: <Sums siblings={below.map((one) => one.queue)} /></span>}
        </div>
        <fieldset className="policy-fixed" disabled={!changes}><Fields row={row} before={before} editing={editing} /></fieldset>
      </div>
      {changes && asking === "rename" && <Rename row={row} taken={taken} onClose={() => setAsking(null)} rename={changes.rename} />}
      {changes && asking === "remove" && (
        <Confirm title={`Remove ${row.name}`} action="Remove" busy={false} error={null} onClose={() => setAsking(null)} onConfirm={changes.remove}>
          <p>{row.leaf ? "The queue" : "The queue and all below it"} leaves your document. Nothing in the cluster changes before you push; a queue with live jobs is removed only by force.</p>
        </Confirm>
      )}
    </section>
  );
}

function Fields({ row, before, editing }: Pick<Props, "row" | "before" | "editing">) {
  const fields = new Map(fieldsAt(editing.root, row.path, editing.document).map((f) => [f.name, f.schema]));
  const partitions = Object.keys((editing.document.partitions as Json | undefined) ?? {});
  return (
    <>
      {GROUPS.map(({ title, fields: names }) => (
        <fieldset key={title} className="policy-group">
          <legend>{title}</legend>
          <div className="policy-fields">
            {names.filter((name) => fields.has(name)).map((name) => (
              <FieldInput key={name} name={name} schema={fields.get(name)!} path={[...row.path, name]} value={row.queue[name]} before={before?.[name]} editing={editing}
                {...(name === "default_partition" && { words: ["", ...partitions] })} />
            ))}
          </div>
        </fieldset>
      ))}
      {partitions.map((partition) => (
        <fieldset key={partition} className="policy-group">
          <legend>Of partition {partition}</legend>
          <div className="policy-fields">
            {fieldsAt(editing.root, [...row.path, "partitions", partition]).map(({ name, schema }) => (
              <FieldInput key={name} name={name} schema={schema} path={[...row.path, "partitions", partition, name]}
                value={((row.queue.partitions as Json | undefined)?.[partition] as Json | undefined)?.[name]}
                before={((before?.partitions as Json | undefined)?.[partition] as Json | undefined)?.[name]} editing={editing} />
            ))}
          </div>
        </fieldset>
      ))}
      {fields.has("federation") && (
        <fieldset className="policy-group">
          <legend>Across sub-clusters</legend>
          <FieldInput name="federation" schema={fields.get("federation")!} path={[...row.path, "federation"]} value={row.queue.federation} before={before?.federation} editing={editing} />
        </fieldset>
      )}
    </>
  );
}

function Rename({ row, taken, onClose, rename }: { row: QueueRow; taken: Set<string>; onClose: () => void; rename: (name: string) => void }) {
  const now = String(row.path.at(-1));
  const [name, setName] = useState(now);
  const wrong = !NAME.test(name) ? "lower-case letters, digits, - and _" : name !== now && taken.has(name) ? "there is one of this name" : null;
  return (
    <Confirm title={`Rename ${row.name}`} action="Rename" busy={false} error={null} onClose={onClose} onConfirm={() => { if (!wrong) { if (name !== now) rename(name); onClose(); } }}>
      <TextInput label="New name" value={name} error={wrong} onChange={(e) => setName(e.currentTarget.value)} />
      <p className="muted small">To the cluster this is a queue that goes and another that comes: jobs that live in the old one keep it until it is removed by force.</p>
    </Confirm>
  );
}

/** Guaranteed shares of memory side by side. The numbers stand in the tree; this shows them at a glance. */
function Siblings({ rows, chosen }: { rows: QueueRow[]; chosen: QueueRow }) {
  const shares = rows.map((row) => ({ row, share: limitOf(row.queue.guaranteed, "memory_mib").share }));
  const all = Math.max(1, shares.reduce((sum, one) => sum + one.share, 0));
  let x = 0;
  return (
    <svg className="policy-siblings" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={shares.filter((one) => one.share).map((one) => `${one.row.path.at(-1)} ${shareWord(one.share)}`).join(", ") || "no shares guaranteed"}>
      <rect width="100" height="4" className="rest" />
      {shares.map(({ row, share }) => {
        const width = (100 * share) / all;
        x += width;
        return width > 0 && <rect key={row.name} x={x - width} width={Math.max(0.2, width - 0.3)} height="4" className={row.name === chosen.name ? "mine" : "other"} />;
      })}
    </svg>
  );
}
