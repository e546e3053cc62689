/** Beside the job file: the files it brings and how far they are sent, and what it asks for. */
import { TextInput } from "@mantine/core";
import type { Checked, FieldError, Me, Outlook } from "../../api/types";
import { amounts } from "../../format/reason";
import { bytes, count } from "../../format/units";
import { Check } from "../../ui/icons";
import { Card, Notice } from "../../ui/parts";
import type { Files, Progress, Values } from "./submitting";
import { wrong } from "./errors";
import { isFolder, lacksSdk, parametersOf, type LocalFile } from "./source";

/** The parameters that the file declares, and what is given for them. */
export function Parameters({ value, values, errors, set }: { value: Record<string, unknown>; values: Values; errors: FieldError[]; set: (name: string, typed: string) => void }) {
  const declared = parametersOf(value);
  if (declared.length === 0) return null;
  return (
    <Card title="Parameters">
      {declared.map(({ name, help, usual, needed }) => (
        <TextInput key={name} label={name} description={help || undefined} placeholder={usual} required={needed} value={values[name] ?? ""}
          error={wrong(errors, ["set", name]) ?? wrong(errors, ["parameters", name])} onChange={(e) => set(name, e.currentTarget.value)} />
      ))}
    </Card>
  );
}

/** What only hydractl and the SDK bring beside a master. */
export function Sdk({ value }: { value: Record<string, unknown> }) {
  if (!lacksSdk(value)) return null;
  return <Notice kind="warn">A master that imports <span className="mono">hydra</span> fails: this page does not bring that package. Use hydractl or the SDK, which do, or add <span className="mono">hydra/</span> to the master&apos;s files.</Notice>;
}

export function FileSlots({ wanted, files, progress, set }: { wanted: LocalFile[]; files: Files; progress: Progress; set: (source: string, file: File) => void }) {
  if (wanted.length === 0) return null;
  return (
    <Card title="Files it brings">
      {wanted.map((local) => {
        const { source } = local;
        if (isFolder(local)) return <p key={source} className="small"><span className="mono wrap-any">{source}</span> is a folder: bring folders with hydractl, or as an archive.</p>;
        const file = files[source];
        const sent = progress[source];
        return (
          <div key={source}>
            <label className="file-row">
              <span className="mono clip grow" title={source}>{source}</span>
              {file ? <span className="state tone-succeeded small"><Check /><span className="clip">{file.name}, {bytes(file.size)}</span></span> : <span className="muted small">choose</span>}
              <input className="sr" type="file" aria-label={`File for ${source}`} onChange={(e) => { const f = e.currentTarget.files?.[0]; if (f) set(source, f); }} />
            </label>
            {file && sent !== undefined && <progress className="sending" max={Math.max(1, file.size)} value={file.size ? sent : 1} aria-label={`${source} sent`} />}
          </div>
        );
      })}
    </Card>
  );
}

export function Summary({ value, me, checked, checking }: { value: Record<string, unknown>; me: Me; checked: Checked | undefined; checking: boolean }) {
  const groups = Array.isArray(value.groups) ? (value.groups as Record<string, unknown>[]) : [];
  const queues = me.queues.map((q) => q.path);
  return (
    <Card title="What it asks for">
      <dl className="facts small">
        <div><dt>Name</dt><dd className="wrap-any">{String(value.name ?? "–")}</dd></div>
        <div><dt>Groups</dt><dd>{checked ? checked.groups : groups.length}</dd></div>
        {checked && <><div><dt>Tasks</dt><dd>{count(checked.tasks)}</dd></div><div><dt>Queue</dt><dd className="wrap-any">{checked.queue}</dd></div><div><dt>Priority</dt><dd>{checked.priority}</dd></div>
          <div><dt>All its tasks together</dt><dd>{amounts(checked)}</dd></div></>}
      </dl>
      <p className="small" role="status" data-testid="checked">{checking ? "Checking" : checked ? <span className="state tone-succeeded"><Check /><span>The server would take it</span></span> : "Not checked yet"}</p>
      {checked?.outlook && <Ahead outlook={checked.outlook} />}
      {queues.length > 0 && <p className="muted small">Your queues: {[...queues, "and those open to all"].join(", ")}</p>}
      <p className="muted small">Ctrl+Enter submits. Nothing runs before you submit.</p>
    </Card>
  );
}

const LISTED = 4;

/** The sub-cluster that would take it, or why none does. */
export function wouldGoTo({ home, why }: Outlook): string {
  return home ?? (why ? `nowhere now: ${why}` : "nowhere now");
}

/** Where it would go and when it could start, were it submitted now. */
function Ahead({ outlook }: { outlook: Outlook }) {
  const lacking = outlook.sub_clusters.filter((s) => s.why);
  return (
    <dl className="facts small" data-testid="outlook">
      <div><dt>Would go to</dt><dd>{wouldGoTo(outlook)}</dd></div>
      <div><dt>Would start</dt><dd>{outlook.estimate.text}</dd></div>
      {outlook.limits.length > 0 && <div><dt>Waits first</dt><dd>{outlook.limits.join("; ")}</dd></div>}
      {outlook.jobs_ahead !== null && outlook.jobs_ahead > 0 && <div><dt>Jobs before it</dt><dd>{count(outlook.jobs_ahead)}</dd></div>}
      {lacking.slice(0, LISTED).map((s) => <div key={s.sub_cluster}><dt>{s.fits ? "Not now in" : "Not in"} {s.sub_cluster}</dt><dd>{s.why}</dd></div>)}
      {lacking.length > LISTED && <div><dt>Nor in</dt><dd>{lacking.length - LISTED} others</dd></div>}
    </dl>
  );
}
