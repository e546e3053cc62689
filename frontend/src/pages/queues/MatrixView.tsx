/** A branch of the tree against the sub-clusters: what each queue was given where, what it holds and wants there, and which rule binds. */
import { Button } from "@mantine/core";
import { get } from "../../api/client";
import type { Resources } from "../../api/types";
import { AXES } from "../../format/resources";
import { useTopic } from "../../live/hooks";
import { Empty, Failed, Loading } from "../../ui/parts";
import { amount } from "./QueueBar";
import { CHOICES } from "./tree";
import type { QueueMatrix } from "./types";
import type { View } from "./view";

/** Each rule in two words, and what it means. */
export const RULES: Record<string, { word: string; says: string }> = {
  demand: { word: "all it wants", says: "It gets all that it wants there." },
  idle: { word: "idle", says: "It wants nothing there; its part of what is idle is kept open for it." },
  vain: { word: "fits no node", says: "No node there could hold what waits for it: its jobs say why." },
  maximum: { word: "at maximum", says: "Its own maximum or one above it is given out." },
  guarantee: { word: "guarantee", says: "The place is full, and its whole guarantee is met." },
  capacity: { word: "place full", says: "The place is full with guarantees: not all of its own fits there." },
  weight: { word: "by weight", says: "The place is full; beyond its guarantee it shares by weight." },
  size: { word: "by size", says: "Shares go by the size of the place." },
  none: { word: "not yet", says: "Nothing was assigned there yet; until then its size counts." },
};

function matrixQuery(under: string, partition: string, resource: string, skip: number): string {
  const p = new URLSearchParams();
  if (under !== "root") p.set("under", under);
  if (partition) p.set("partition", partition);
  const axis = AXES[CHOICES.indexOf(resource) - 1];
  if (axis) p.set("resource", axis);
  if (skip) p.set("skip", String(skip));
  const text = p.toString();
  return text ? `?${text}` : "";
}

export function MatrixView({ view, set }: { view: View; set: (more: Partial<View>) => void }) {
  const query = matrixQuery(view.under, view.partition, view.resource, view.skip);
  const found = useTopic<QueueMatrix>(`queuematrix${query}`, (signal) => get<QueueMatrix>(`/queues/matrix${query}`, signal));
  if (found.error && !found.data) return <div className="body"><Failed error={found.error} /></div>;
  if (!found.data) return <Loading lines={6} label="Loading the matrix" />;
  const m = found.data;
  return (
    <>
      <div className="row wrap matrix-head">
        <Trail under={view.under} set={set} />
        <span className="grow" />
        <span className="muted small">{policyText(m)}</span>
      </div>
      {m.rows.length === 0 ? <Empty title="No queue of yours here">Go up, or choose another branch.</Empty> : <div className="table-wrap matrix-wrap" tabIndex={0} role="region" aria-label="Queues and sub-clusters">
        <table className="grid matrix">
          <thead><tr><th scope="col">Queue</th>{m.places.map((p) => <th key={p.name} scope="col">{p.name}{place(p)}</th>)}</tr></thead>
          <tbody>{m.rows.map((row) => <MatrixRow key={row.path} row={row} m={m} set={set} />)}</tbody>
        </table>
      </div>}
      {(m.more > 0 || view.skip > 0) && <div className="row wrap matrix-foot">
        <Button size="compact-sm" variant="default" disabled={view.skip === 0} onClick={() => set({ skip: Math.max(0, view.skip - 100) })}>Before</Button>
        <Button size="compact-sm" variant="default" disabled={m.more === 0} onClick={() => set({ skip: view.skip + 100 })}>{m.more.toLocaleString("en-US")} more</Button>
      </div>}
      <ul className="legend matrix-foot">{[...new Set(m.rows.flatMap((row) => row.rules))].map((rule) => <li key={rule}><b className={`rule rule-${rule}`}>{RULES[rule]?.word}</b> {RULES[rule]?.says}</li>)}</ul>
    </>
  );
}

function policyText(m: QueueMatrix): string {
  const ages = m.places.flatMap((p) => (p.shares_age_s === null ? [] : [p.shares_age_s]));
  if (m.shares.policy === "static") return "Shares by size alone: the policy is static";
  if (ages.length === 0) return `Shares by ${m.shares.policy}; none were assigned yet`;
  return `Shares by ${m.shares.policy}, every ${m.shares.interval_s} s, the oldest ${Math.round(Math.max(...ages))} s old`;
}

function place(p: QueueMatrix["places"][number]) {
  if (!p.counts) return <div className="small place-note">nobody leads it</div>;
  if (p.stale) return <div className="small place-note">shares are old</div>;
  if (p.version && p.goes_by < p.version) return <div className="small place-note">takes the new shares</div>;
  return null;
}

function Trail({ under, set }: { under: string; set: (more: Partial<View>) => void }) {
  const names = under.split(".");
  return (
    <nav aria-label="Branch" className="trail">
      {names.map((name, i) => {
        const path = names.slice(0, i + 1).join(".");
        return i === names.length - 1 ? <strong key={path}>{name}</strong> : <span key={path}><button type="button" className="linkish" onClick={() => set({ under: path, skip: 0 })}>{name}</button> / </span>;
      })}
    </nav>
  );
}

function MatrixRow({ row, m, set }: { row: QueueMatrix["rows"][number]; m: QueueMatrix; set: (more: Partial<View>) => void }) {
  const axis = AXES.indexOf(row.resource as keyof Resources);
  const name = row.path.slice(row.path.lastIndexOf(".") + 1);
  const top = row.path === m.under;
  return (
    <tr className={top ? "matrix-top" : undefined}>
      <th scope="row">
        {row.leaf || top ? <button type="button" className="linkish" onClick={() => set({ queue: row.path })}>{top ? `all of ${name}` : name}</button>
          : <button type="button" className="linkish" onClick={() => set({ under: row.path, skip: 0 })} aria-label={`${name}, open this branch`}>{name} ›</button>}
        <div className="small muted">of {amount(axis, row.guaranteed[axis] ?? 0)} guaranteed</div>
      </th>
      {m.places.map((p, at) => <MatrixCell key={p.name} axis={axis} cell={{ share: row.share[at]?.[axis] ?? 0, guaranteed_part: row.guaranteed_part[at]?.[axis] ?? 0, used: row.used[at]?.[axis] ?? 0, pending: row.pending[at]?.[axis] ?? 0, capacity: p.capacity[axis] ?? 0 }}
        rule={row.rules[at] ?? "none"} label={`${row.path} in ${p.name}`} onOpen={() => set({ queue: row.path })} />)}
    </tr>
  );
}

interface Cell { share: number; guaranteed_part: number; used: number; pending: number; capacity: number }

function MatrixCell({ axis, cell, rule, label, onOpen }: { axis: number; cell: Cell; rule: string; label: string; onOpen: () => void }) {
  const at = (n: number) => `${cell.capacity > 0 ? Math.min(100, (100 * n) / cell.capacity).toFixed(1) : 0}%`;
  const say = (n: number) => amount(axis, n);
  const text = `${label}: share ${say(cell.share)}, ${say(cell.guaranteed_part)} of it guaranteed, uses ${say(cell.used)}, ${say(cell.pending)} pending. ${RULES[rule]?.says ?? ""}`;
  const quiet = cell.share + cell.used + cell.pending === 0;
  return (
    <td>
      <button type="button" className="mcell" data-quiet={quiet} title={text} aria-label={text} onClick={onOpen}>
        <svg className="mbar" preserveAspectRatio="none" aria-hidden="true">
          <rect className="qbar-track" width="100%" y="2" height="8" />
          {cell.pending > 0 && <rect className="qbar-demand" y="1" height="10" width={at(cell.used + cell.pending)} />}
          <rect className="qbar-used" y="3" height="6" width={at(Math.min(cell.used, cell.share))} />
          {cell.used > cell.share && <rect className="qbar-borrowed" x={at(cell.share)} y="3" height="6" width={at(cell.used - cell.share)} />}
          {cell.share > 0 && <rect className="qbar-tick" x={at(cell.share)} y="0" width="2" height="12" />}
        </svg>
        <span className="mtext"><b>{say(cell.share)}</b> <span className="muted">{say(cell.used)} used{cell.pending > 0 ? `, ${say(cell.pending)} pending` : ""}</span></span>
        <span className={`rule rule-${rule}`}>{RULES[rule]?.word ?? rule}</span>
      </button>
    </td>
  );
}
