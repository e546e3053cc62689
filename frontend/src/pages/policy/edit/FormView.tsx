/** The document as a form: queues, components, the rest. Every change is an edit of the one text. */
import { Button } from "@mantine/core";
import { useMemo } from "react";
import { Card, Empty, Loading } from "../../../ui/parts";
import type { Schema } from "../model/schema";
import { edit, read, rename, type Problem } from "../model/text";
import { queueAt, rowsOf } from "../model/tree";
import type { Path, Policy } from "../types";
import type { Editing } from "./editing";
import { PartsForm } from "./PartsForm";
import { QueueForm } from "./QueueForm";
import { QueueTree } from "./QueueTree";

interface Props {
  text: string;
  base: Policy;
  schema: Schema | undefined;
  problems: Problem[];
  at: Path | null;
  go: (path: Path) => void;
  /** Without it the document is only read. */
  onChange?: (text: string) => void;
  toText: () => void;
}

const SECTIONS: { key: string; name: string }[] = [
  { key: "queues", name: "Queues" }, { key: "components", name: "Components" }, { key: "sub_clusters", name: "Sub-clusters" }, { key: "partitions", name: "Partitions" }, { key: "approval", name: "Approval" },
];

export function FormView({ text, base, schema, problems, at, go, onChange, toText }: Props) {
  const reading = useMemo(() => read(text), [text]);
  const rows = useMemo(() => rowsOf(reading.value), [reading]);
  const before = useMemo(() => new Map(rowsOf(base.document).map((row) => [row.name, row.queue])), [base]);
  if (!schema) return <Loading lines={8} />;
  if (!reading.value) {
    return <Card><Empty title="The text cannot be read as fields yet">Line {reading.problems[0]?.line}: {reading.problems[0]?.message}<br /><Button mt={8} variant="default" onClick={toText}>To the text</Button></Empty></Card>;
  }
  const section = SECTIONS.find((one) => one.key === at?.[0])?.key ?? "queues";
  const editing: Editing = { root: schema, document: reading.value, problems, set: (path, value) => onChange?.(edit(text, path, value)) };
  const chosen = (at && queueAt(at)) ?? rows[0]?.path ?? null;
  const row = rows.find((one) => chosen && one.path.join("/") === chosen.join("/")) ?? rows[0];
  return (
    <>
      <nav className="policy-sections" aria-label="Parts of the document">
        {SECTIONS.map(({ key, name }) => {
          const wrong = problems.filter((p) => p.field.split(".")[0] === key).length;
          return (
            <button type="button" key={key} aria-pressed={key === section} onClick={() => go([key])}>
              {name}{wrong > 0 && <span className="policy-count" aria-label={`${wrong} to put right`}>{wrong}</span>}
            </button>
          );
        })}
      </nav>
      {section === "queues" ? (
        <div className="policy-form">
          <QueueTree rows={rows} before={before} chosen={row?.path ?? null} problems={problems} go={go}
            add={onChange && ((parent, name) => { onChange(edit(text, [...parent, name], {})); go([...parent, name]); })} />
          {row ? (
            <QueueForm key={row.name} row={row} rows={rows} before={before.get(row.name)} editing={editing} go={go} changes={onChange && {
              rename: (name) => { onChange(rename(text, row.path, name)); go([...row.path.slice(0, -1), name]); },
              remove: () => { onChange(edit(text, row.path, undefined)); go(row.path.slice(0, -2)); },
            }} />
          ) : <Card><Empty title="No queue yet">{onChange && "Add one at the left: "}every job needs a queue.</Empty></Card>}
        </div>
      ) : <fieldset className="policy-fixed" disabled={!onChange}><PartsForm section={section} editing={editing} at={at} /></fieldset>}
    </>
  );
}
