/** What was asked, newest first: where it stands, over which window, and who wants to know. */
import { Link } from "wouter";
import type { Tone } from "../../../format/states";
import { ago, duration, moment } from "../../../format/units";
import { ToneIcon } from "../../../ui/icons";
import { useNow } from "../../../ui/parts";
import { over, whatOf, windowMs } from "../model/asking";
import { Wide } from "../../../ui/wide";
import type { Simulation } from "../types";
import { Bar } from "./Progress";

const STATES: Record<Simulation["state"], { word: string; tone: Tone }> = {
  queued: { word: "Queued", tone: "waiting" }, running: { word: "Running", tone: "running" }, done: { word: "Done", tone: "succeeded" },
  failed: { word: "Failed", tone: "failed" }, cancelled: { word: "Cancelled", tone: "killed" },
};

export function SimulationState({ state }: { state: Simulation["state"] }) {
  const { word, tone } = STATES[state];
  return <span className={`state tone-${tone}`} data-state={state}><ToneIcon tone={tone} /><span>{word}</span></span>;
}

export function SimulationTable({ rows, chosen }: { rows: Simulation[]; chosen?: number | null }) {
  const now = useNow(10_000);
  return (
    <Wide>
      <table className="grid" aria-label="Simulations">
        <thead><tr><th>Simulation</th><th>State</th><th>What</th><th className="num">Against version</th><th>Window</th><th>By</th><th>Asked</th></tr></thead>
        <tbody>
          {rows.map((s) => (
            <tr key={s.id} aria-current={s.id === chosen || undefined}>
              <td className="nowrap"><Link href={`/policy/simulations/${s.id}`}>Simulation {s.id}</Link></td>
              <td className="whatif-state"><SimulationState state={s.state} />{!over(s) && <Bar simulation={s} />}{s.message && <div className="muted small wrap-any">{s.message}</div>}</td>
              <td className="wrap-any whatif-what">{whatOf(s)}{s.version !== null && <div className="muted small">{s.change}</div>}</td><td className="num">{s.base}</td>
              <td className="nowrap">{duration(windowMs(s))}<div className="muted small whatif-over">{s.trace_name ? `of ${s.trace_name}` : `to ${moment(s.to)}`}</div></td>
              <td>{s.requested_by ?? "an account that is gone"}</td><td className="nowrap" title={moment(s.requested_at)}>{ago(s.requested_at, now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
