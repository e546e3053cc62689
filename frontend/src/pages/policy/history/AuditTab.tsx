/** Who changed what, before and after. Everything that people and the system change, the policy's first. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Page } from "../../../api/types";
import { hydractl } from "../../../format/shell";
import { moment } from "../../../format/units";
import { useFollowed } from "../../../live/hooks";
import { Card, Command, Empty } from "../../../ui/parts";
import { mapping } from "../model/mapping";
import { brief } from "../model/merge";
import { Paged, useChosen, useCursor } from "../pager";
import { useSpread } from "../spread";
import type { AuditEntry } from "../types";

const ACTIONS = [
  { value: "policy.", label: "policy" }, { value: "", label: "everything" }, { value: "policy.rollout", label: "rollouts" }, { value: "policy.override", label: "overrides" },
  { value: "policy.propos", label: "proposals" }, { value: "queue", label: "rights in queues" }, { value: "job", label: "jobs" }, { value: "node", label: "nodes" }, { value: "sub-cluster", label: "sub-clusters" }, { value: "account", label: "accounts" },
  { value: "schedule", label: "schedules" }, { value: "maintenance", label: "maintenance" }, { value: "exec", label: "shells and commands in containers" }, { value: "forward", label: "port forwards" }, { value: "secret", label: "secrets" }, { value: "receiver", label: "receivers" },
];

/** The same entries from a shell. */
function auditCommand(filters: Record<string, string>): string {
  return hydractl("audit", ...Object.entries(filters).flatMap(([name, value]) => (value ? [`--${name}`, value] : [])));
}

export default function AuditTab() {
  const spread = useSpread();
  const [search, put] = useChosen();
  const action = search.get("action") ?? "policy.";
  const [actor, target] = [search.get("actor") ?? "", search.get("target") ?? ""];
  const cursor = useCursor();
  const query = new URLSearchParams({ page_size: "30", ...(action && { action }), ...(actor && { actor }), ...(target && { target }) });
  const page = useFollowed<Page<AuditEntry>>(`/audit?${query}${cursor.query}`, spread.data?.convergence?.version ?? "");
  const choose = (name: string, value: string) => put({ cursor: null, [name]: value || name === "action" ? value : null });
  return (
    <Card flush title="Audit log" aside={<><span className="muted small">newest first</span><Command text={auditCommand({ action, actor, target })} /></>}>
      <div className="policy-filters">
        <NativeSelect label="What" value={action} data={ACTIONS.some((a) => a.value === action) ? ACTIONS : [...ACTIONS, { value: action, label: action }]} onChange={(e) => choose("action", e.currentTarget.value)} />
        <Filter label="By account" placeholder="anybody; system" value={actor} set={(v) => choose("actor", v)} />
        <Filter label="On what" placeholder="such as rollout/7" value={target} set={(v) => choose("target", v)} />
      </div>
      <Paged read={page} cursor={cursor} empty={<Empty title="Nothing was changed like that">Choose fewer filters.</Empty>}>{(rows) => (
        <ul className="policy-audit" aria-label="Entries">{rows.map((entry) => <Entry key={entry.id} entry={entry} />)}</ul>
      )}</Paged>
    </Card>
  );
}

function Filter({ label, placeholder, value, set }: { label: string; placeholder: string; value: string; set: (value: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text.trim() === value) return;
    const id = setTimeout(() => set(text.trim()), 300);
    return () => clearTimeout(id);
  });
  return <TextInput label={label} placeholder={placeholder} maxLength={255} value={text} onChange={(e) => setText(e.currentTarget.value)} />;
}

function Entry({ entry }: { entry: AuditEntry }) {
  const [before, after] = [mapping(entry.before), mapping(entry.after)];
  const told = Array.isArray(after.changes) ? after.changes : [after.text ?? before.text];
  const changes = told.filter((each) => typeof each === "string");
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !["changes", "values", "message", "text"].includes(name));
  return (
    <li>
      <div className="row wrap"><b>{entry.actor ?? "the system"}</b><span className="tag">{entry.action}</span><span className="mono wrap-any">{entry.target}</span><span className="grow" /><span className="muted small nowrap">{moment(entry.at)}{entry.address && ` · ${entry.address}`}</span></div>
      {typeof after.message === "string" && after.message && <p>“{after.message}”</p>}
      {changes.length > 0 && <ul className="policy-changes small">{changes.slice(0, 10).map((text, n) => <li key={n}><span className="wrap-any">{text}</span></li>)}</ul>}
      {names.length > 0 && (
        <details>
          <summary className="small">before and after</summary>
          <table className="grid small" aria-label={`Entry ${entry.id}`}><thead><tr><th>Field</th><th>Before</th><th>After</th></tr></thead><tbody>
            {names.map((name) => <tr key={name}><td>{name}</td><td className="wrap-any">{brief(before[name], 400)}</td><td className="wrap-any">{brief(after[name], 400)}</td></tr>)}
          </tbody></table>
        </details>
      )}
    </li>
  );
}
