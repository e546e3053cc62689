/** An answer: what is clear, figures over all queues, queue by queue and user by user with a picture of the change, and what is assumed. */
import { SegmentedControl } from "@mantine/core";
import { useMemo, useState } from "react";
import { API } from "../../../api/client";
import { count, many } from "../../../format/units";
import { Empty } from "../../../ui/parts";
import { BY_PART, clear, few, mainRows, partRows, sides, type ByPart, type Kind } from "../model/answer";
import { Wide } from "../../../ui/wide";
import type { Simulation, SimulationResult } from "../types";
import { ChangeCell, Values } from "./Change";
import { Drained } from "./Drained";
import { PartTable } from "./PartTable";

const FIRST: Record<Kind, number> = { queue: 20, user: 10 };
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function Answer({ simulation, result }: { simulation: Simulation; result: SimulationResult }) {
  const both = sides(result);
  if (!both) return <Empty title="The answer has nothing to show" />;
  return (
    <>
      {result.drained && <Drained found={result.drained} />}
      <Summary result={result} seeds={both.after.seeds.length} />
      <InAll result={result} />
      <Parts result={result} kind="queue" />
      <Parts result={result} kind="user" />
      <Notes notes={result.comparison.notes} />
      <div className="row wrap"><a href={`${API}/simulations/${simulation.id}/report`} target="_blank" rel="noreferrer">Open the whole report</a> <span className="muted small">a page with all figures and pictures, to read, print or send</span></div>
    </>
  );
}

function Summary({ result, seeds }: { result: SimulationResult; seeds: number }) {
  const found = useMemo(() => clear(result), [result]);
  const nothing = ![found.better, found.worse, found.less, found.longer].some((names) => names.length);
  const lines = [["Clearly better", found.better], ["Clearly worse", found.worse], ["Queues that wait less", found.less], ["Queues that wait longer", found.longer]] as const;
  return (
    <div className="whatif-summary">
      {nothing ? <p><b>{found.told ? "Nothing that these runs can tell from chance." : "Nothing can be said surely: there are too few seeds, and too few jobs that both ran."}</b></p> : (
        <dl>{lines.filter(([, names]) => names.length).map(([title, names]) => <div key={title}><dt>{title}</dt><dd className="wrap-any">{few([...names])}</dd></div>)}</dl>
      )}
      <p className="muted small">{many(result.jobs, "job")} with {many(result.containers, "container")} on {many(result.nodes, "node")}; {seeds === 1 ? "one run" : `${seeds} runs`} of each. Clear is what a 95 % interval without 0 says.</p>
    </div>
  );
}

function InAll({ result }: { result: SimulationResult }) {
  const rows = useMemo(() => mainRows(result), [result]);
  const both = sides(result);
  if (!rows.length || !both) return null;
  return (
    <section aria-label="In all">
      <h3 className="policy-sub">In all</h3>
      <Wide>
        <table className="grid whatif-main" aria-label="Figures over all queues">
          <thead><tr><th>Figure</th><th className="num">{capital(both.before.policy)}</th><th className="num">{capital(both.after.policy)}</th><th>Change, and its 95 % interval</th></tr></thead>
          <tbody>
            {rows.map((row) => <tr key={row.name}><td>{row.about.title}</td><Values row={row} /><ChangeCell row={row} /></tr>)}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}

function Parts({ result, kind }: { result: SimulationResult; kind: Kind }) {
  const [by, setBy] = useState<ByPart>("wait_mean_s");
  const [all, setAll] = useState(false);
  const rows = useMemo(() => partRows(result, kind, by), [result, kind, by]);
  const shown = all ? rows : rows.slice(0, FIRST[kind]);
  const unlisted = kind === "queue" ? result.comparison.total_queues - rows.length : 0; // other users are summed in a row
  if (!rows.length) return null;
  return (
    <section aria-label={`By ${kind}`}>
      <div className="row wrap whatif-by">
        <h3 className="policy-sub grow">By {kind}: clear changes first, each the largest first</h3>
        <SegmentedControl size="xs" aria-label={`Change by ${kind} that is drawn and sorted by`} value={by} onChange={(v) => setBy(v as ByPart)} data={Object.entries(BY_PART).map(([key, label]) => ({ value: key, label }))} />
      </div>
      <PartTable rows={shown} kind={kind} by={by} />
      {rows.length > shown.length && <button type="button" className="linkish whatif-all" onClick={() => setAll(true)}>Show all {count(rows.length)} {kind}s</button>}
      {shown.length === rows.length && unlisted > 0 && <p className="muted small whatif-all">{count(unlisted)} more queues change less; the report has all.</p>}
    </section>
  );
}

function Notes({ notes }: { notes: string[] }) {
  if (!notes.length) return null;
  return (
    <details className="whatif-notes">
      <summary>{notes.length === 1 ? "One note: what is assumed" : `${notes.length} notes: what is assumed, and how sure it is`}</summary>
      <ul>{notes.map((note, n) => <li key={n} className="wrap-any">{note}</li>)}</ul>
    </details>
  );
}
