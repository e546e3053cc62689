/** The job file as a form. It holds nothing of its own: each field is read from the text and written into it. */
import { Button, NativeSelect, TextInput, Textarea } from "@mantine/core";
import { useEffect, useState } from "react";
import type { FieldError } from "../../api/types";
import { RESOURCES } from "../../format/resources";
import { linesAsWords, shellText, shellWords } from "../../format/shell";
import { Card } from "../../ui/parts";
import { QueueChoice } from "../job/QueueChoice";
import { at, numberOr, readPairs, textAt, withAdded, withField, words, writePairs, type Path } from "./document";
import { wrong } from "./errors";
import { NotifyField, SecretsField } from "./Named";

export interface FormProps {
  text: string;
  value: Record<string, unknown>;
  errors: FieldError[];
  change: (text: string) => void;
}

const KINDS = [{ value: "", label: "Batch" }, { value: "service", label: "Service" }, { value: "application", label: "Application" }];

export function Form(props: FormProps) {
  const { text, value, change } = props;
  const groups = Array.isArray(value.groups) ? (value.groups as unknown[]) : [];
  const named = new Set(groups.map((g) => textAt(g, ["name"])));
  let n = groups.length + 1;
  while (named.has(`group-${n}`)) n += 1;
  return (
    <div className="form">
      <Card title="Job">
        <div className="fields">
          <Field {...props} label="Name" path={["name"]} />
          <QueueField {...props} />
          <Select {...props} label="Kind" path={["kind"]} data={KINDS} />
          <Field {...props} label="Priority" path={["priority"]} number placeholder="the queue's" />
          <Words {...props} label="Tags" path={["tags"]} />
        </div>
        <NotifyField {...props} />
      </Card>
      {groups.map((_, no) => <GroupForm key={no} {...props} no={no} only={groups.length === 1} />)}
      <div><Button variant="default" onClick={() => change(withAdded(text, ["groups"], { name: `group-${n}`, count: 1, command: "echo hello", shell: true }))}>Add a task group</Button></div>
    </div>
  );
}

function GroupForm({ no, only, ...props }: FormProps & { no: number; only: boolean }) {
  const { text, value, change } = props;
  const g = (...path: Path): Path => ["groups", no, ...path];
  const shell = at(value, g("shell")) === true;
  const name = textAt(value, g("name")) || `group ${no + 1}`;
  return (
    <Card title={`Task group ${name}`} aside={only ? undefined : <Button variant="subtle" onClick={() => change(withField(text, g(), undefined))}>Remove</Button>}>
      <div className="fields">
        <Field {...props} label="Group name" path={g("name")} />
        <Field {...props} label="Tasks" path={g("count")} number placeholder="1" />
        {RESOURCES.map(({ axis, field, usual, example }) => <Field key={axis} {...props} label={field} path={g("resources", axis)} number placeholder={`${usual}, or as ${example}`} />)}
        <Words {...props} label="After groups" path={g("after")} />
        <Field {...props} label="Retries" path={g("retries")} number placeholder="0" />
        <Field {...props} label="Time limit, s" path={g("timeout_s")} number placeholder="none, or as 1h30m" />
      </div>
      <CommandField {...props} path={g("command")} shell={shell} />
      <label className="row check"><input type="checkbox" checked={shell} onChange={(e) => change(inShell(text, value, g(), e.currentTarget.checked))} />Run it by a shell</label>
      <SecretsField {...props} path={g("secrets")} />
      <Lines {...props} label="Files it leaves behind" hint="One a line: name: path" path={g("outputs")} />
    </Card>
  );
}

/** A command for a shell is one text, without one a list of words; what was written means the same, and comes back. */
function inShell(text: string, value: unknown, group: Path, shell: boolean): string {
  const command = at(value, [...group, "command"]);
  const next = shell ? (Array.isArray(command) ? shellText(command.map(String)) : command) : typeof command === "string" ? shellWords(command) : command;
  return withField(withField(text, [...group, "shell"], shell || undefined), [...group, "command"], next ?? "");
}

type Of = FormProps & { label: string; path: Path };

/** Text that is being typed; it goes into the file as it is typed, and follows the file otherwise. */
function useTyped(there: string, write: (typed: string) => void): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(there);
  const [mine, setMine] = useState(there);
  useEffect(() => { if (there !== mine) { setTyped(there); setMine(there); } }, [there]); // eslint-disable-line
  return [typed, (next) => { setTyped(next); setMine(next); write(next); }];
}

function Field({ text, value, errors, change, label, path, number = false, placeholder }: Of & { number?: boolean; placeholder?: string }) {
  const [typed, type] = useTyped(textAt(value, path), (next) => change(withField(text, path, number ? numberOr(next) : next.trim() || undefined)));
  return <TextInput label={label} placeholder={placeholder} value={typed} error={wrong(errors, path)} onChange={(e) => type(e.currentTarget.value)} />;
}

function Words({ text, value, errors, change, label, path }: Of) {
  const found = at(value, path);
  const [typed, type] = useTyped(Array.isArray(found) ? found.join(", ") : "", (next) => change(withField(text, path, words(next))));
  const error = wrong(errors, path) ?? errors.filter((e) => e.field.startsWith(`${path.join(".")}.`)).map((e) => e.message)[0];
  return <TextInput label={label} placeholder="none" value={typed} error={error} onChange={(e) => type(e.currentTarget.value)} />;
}

function Lines({ text, value, errors, change, label, path, hint }: Of & { hint: string }) {
  const [typed, type] = useTyped(writePairs(at(value, path)), (next) => change(withField(text, path, readPairs(next))));
  const error = wrong(errors, path) ?? errors.filter((e) => e.field.startsWith(`${path.join(".")}.`)).map((e) => e.message)[0];
  return <Textarea className="mono-input" label={label} description={hint} mt={10} autosize minRows={1} placeholder="none" value={typed} error={error} onChange={(e) => type(e.currentTarget.value)} />;
}

function CommandField({ text, value, errors, change, path, shell }: Omit<Of, "label"> & { shell: boolean }) {
  const found = at(value, path);
  const listed = Array.isArray(found) ? found.map(String) : [];
  const there = Array.isArray(found) ? listed.join("\n") : textAt(value, path);
  const [typed, type] = useTyped(there, (next) => change(withField(text, path, shell ? next : linesAsWords(next, listed))));
  return (
    <Textarea className="mono-input" label="Command" description={shell ? "Lines of a shell" : "The program and its arguments, one a line"} mt={10} autosize minRows={2} spellCheck={false}
      value={typed} error={wrong(errors, path)} onChange={(e) => type(e.currentTarget.value)} />
  );
}

function Select({ text, value, errors, change, label, path, data }: Of & { data: { value: string; label: string }[] }) {
  const there = textAt(value, path);
  return <NativeSelect label={label} data={data} value={there === "batch" ? "" : there} error={wrong(errors, path)} onChange={(e) => change(withField(text, path, e.currentTarget.value || undefined))} />;
}

function QueueField({ text, value, errors, change }: FormProps) {
  const there = textAt(value, ["queue"]) || "root.default";
  return <QueueChoice value={there} error={wrong(errors, ["queue"])} onChange={(path) => change(withField(text, ["queue"], path))} />;
}
