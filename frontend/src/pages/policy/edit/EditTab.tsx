/** One document in two views; then what it would do; then pushing it. */
import { Button, SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useEffect, useState } from "react";
import type { Page, SubCluster } from "../../../api/types";
import type { PageProps } from "../../../app/pages";
import { ago, many } from "../../../format/units";
import { useRead } from "../../../live/hooks";
import { Command, Confirm, Failed, Loading, Notice, useNow } from "../../../ui/parts";
import { SaveAs } from "../../../ui/save";
import { planCommand } from "../model/commands";
import type { Schema } from "../model/schema";
import { fileText, fromPointer, toPointer, type Problem } from "../model/text";
import { useChosen } from "../pager";
import { Warnings } from "../Warnings";
import { useSpread } from "../spread";
import type { Path, Policy } from "../types";
import { FormView } from "./FormView";
import { ReadView } from "./ReadView";
import { useCheck, type Check } from "./useCheck";
import { useDraft, type DraftView } from "./useDraft";

const Editor = lazy(() => import("./Editor"));
const PlanStep = lazy(() => import("../plan/PlanStep"));

export default function EditTab({ me }: PageProps) {
  const spread = useSpread();
  const inForce = spread.data?.convergence?.active ? spread.data.convergence.version : "";
  const active = useRead<Policy>("/policy", inForce);
  const schema = useRead<Schema>("/policy/schema");
  const writes = me.role === "operator";
  const draft = useDraft(me.username, active.data);
  if (active.error && !active.data) return <Failed error={active.error} retry={() => void active.refetch()} />;
  if (!writes && active.data) return <ReadView policy={active.data} schema={schema.data} />;
  if (!draft || !active.data) return <Loading lines={8} label="Loading the policy" />;
  return <Edit draft={draft} active={active.data} schema={schema.data} reread={async () => (await active.refetch()).data} />;
}

function Edit({ draft, active, schema, reread }: { draft: DraftView; active: Policy; schema: Schema | undefined; reread: () => Promise<Policy | undefined> }) {
  const [search, put] = useChosen();
  const check = useCheck(draft.text);
  const known = useRead<Page<SubCluster>>("/sub-clusters");
  const subClusters = (known.data?.results ?? []).filter((sc) => sc.state !== "decommissioned").map((sc) => sc.name);
  const view = search.get("view") === "text" ? "text" : "form";
  const at = search.get("at");
  const path = at ? fromPointer(at) : null;
  const go = (to: Path) => put({ at: toPointer(to) });
  const toText = (field?: string) => put({ view: "text", ...(field ? { at: toPointer(field.split(".")) } : {}) });
  if (search.get("step") === "plan") {
    // Of the text as it was kept then: another text was not simulated.
    const [simulation, of] = (search.get("simulation") ?? "").split("-");
    return (
      <Suspense fallback={<Loading />}>
        <PlanStep draft={draft} active={active} check={check} reread={reread} back={() => put({ step: null, simulation: null }, false)}
          simulation={of === String(draft.savedAt) ? Number(simulation) || null : null} simulated={(id) => put({ simulation: `${id}-${draft.savedAt}` })} />
      </Suspense>
    );
  }
  return (
    <>
      <div className="policy-bar">
        <SegmentedControl aria-label="View of the document" value={view} onChange={(v) => put({ view: v === "text" ? "text" : null })}
          data={[{ value: "form", label: "Form" }, { value: "text", label: "Text" }]} />
        <Verdict check={check} />
        <span className="grow" />
        <SaveAs name="policy.yaml" text={fileText(draft.text, draft.base.version)} />
        <Command text={planCommand} />
        <PlanButton draft={draft} wrong={check.state === "wrong"} plan={() => put({ step: "plan" }, false)} />
      </div>
      <DraftNote draft={draft} active={active} />
      <Warnings warnings={check.warnings} go={toText} />
      {check.problems.length > 0 && <Problems problems={check.problems} go={(p) => toText(p.field)} />}
      {view === "text" ? (
        <Suspense fallback={<Loading lines={10} label="Loading the editor" />}>
          <section className="card policy-editor" aria-label="Text of the policy">
            <Editor text={draft.text} schema={schema} subClusters={subClusters} problems={check.problems} at={path} onChange={draft.set} onSave={() => { if (check.state === "right" && draft.dirty) put({ step: "plan" }, false); }} />
          </section>
        </Suspense>
      ) : <FormView text={draft.text} base={draft.base} schema={schema} problems={check.problems} at={path} go={go} onChange={draft.set} toText={() => toText()} />}
    </>
  );
}

/** A field that is still being typed in is taken when it is left, and a click here leaves it: so it can always be clicked. */
function PlanButton({ draft, wrong, plan }: { draft: DraftView; wrong: boolean; plan: () => void }) {
  const [idle, setIdle] = useState(false);
  useEffect(() => setIdle(false), [draft.dirty]);
  return (
    <>
      {idle && !wrong && <span className="muted small" role="status">Nothing is changed yet.</span>}
      <Button variant={draft.dirty && !wrong ? "filled" : "default"} aria-disabled={wrong} onClick={() => { if (draft.dirty && !wrong) plan(); else setIdle(true); }}>Plan and push…</Button>
    </>
  );
}

function Verdict({ check }: { check: Check }) {
  const warned = check.warnings.length;
  const words = {
    checking: "Checking…",
    right: warned ? `Valid, with ${many(warned, "warning")}` : `Nothing wrong${check.queues === null ? "" : `, ${many(check.queues - 1, "queue")}`}`,
    wrong: check.problems.length === 1 ? "1 thing to put right" : `${check.problems.length} things to put right`,
    unknown: check.error ? "The server could not check it" : "Not checked",
  };
  return <span className="policy-verdict" data-state={warned ? "warned" : check.state} role="status">{words[check.state]}</span>;
}

function Problems({ problems, go }: { problems: Problem[]; go: (problem: Problem) => void }) {
  return (
    <section className="card policy-problems" role="alert" aria-label="Problems">
      {problems.slice(0, 8).map((p, n) => (
        <button type="button" key={n} className="field-error" onClick={() => go(p)}>
          <b>line {p.line}{p.field ? `, ${p.field}` : ""}</b><span>{p.message}</span>{p.remedy && <span className="muted small">{p.remedy}</span>}
        </button>
      ))}
      {problems.length > 8 && <p className="muted small policy-more">and {problems.length - 8} more</p>}
    </section>
  );
}

function DraftNote({ draft, active }: { draft: DraftView; active: Policy }) {
  const now = useNow(10_000);
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    if (!draft.dirty) setAsking(false);
  }, [draft.dirty]);
  if (!draft.dirty) return null;
  const moved = active.version !== draft.base.version && active.base !== draft.base.base;
  return (
    <div className="policy-draft" role="status">
      <span className="grow">
        <b>{draft.restored ? "Your unsaved text is back." : "Not pushed yet."}</b>{" "}
        {draft.unkept ? "This browser keeps nothing: a reload would lose it." : `Kept in this tab${draft.savedAt ? `, ${ago(new Date(draft.savedAt).toISOString(), now)}` : ""}.`}{" "}
        Made from version {draft.base.version}{moved ? `; version ${active.version} of ${active.author ?? "the system"} is in force by now` : ""}.
      </span>
      <Button variant="default" size="compact-sm" onClick={() => setAsking(true)}>Discard…</Button>
      {asking && (
        <Confirm title="Discard your changes" action="Discard" busy={false} error={null} onClose={() => setAsking(false)} onConfirm={() => { draft.discard(); setAsking(false); }}>
          <p>What you wrote since version {draft.base.version} is gone then. Nothing in the cluster changes.</p>
        </Confirm>
      )}
      {moved && <Notice kind="warn">Planning and pushing will show both changes side by side before anything happens.</Notice>}
    </div>
  );
}
