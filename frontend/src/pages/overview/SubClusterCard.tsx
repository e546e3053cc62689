import { lazy, Suspense } from "react";
import { Link } from "wouter";
import type { SubCluster } from "../../api/types";
import { useMe } from "../../app/session";
import { there } from "../../format/resources";
import { coarse, count, duration, moment, short } from "../../format/units";
import { Meter } from "../../ui/bars";
import { ToneIcon } from "../../ui/icons";
import { useCompared } from "./compared";
import { health, leftThere, summaryStale } from "./fleet";

const SubClusterLife = lazy(() => import("./SubClusterLife"));

/** own: what is held and waits is the reader's own part. */
export function SubClusterCard({ sc, own }: { sc: SubCluster; own: boolean }) {
  const state = health(sc);
  const old = summaryStale(sc);
  const compared = useCompared(sc.name);
  const operator = useMe().data?.role === "operator";
  return (
    <section className={`card sc ${old ? "stale" : ""}`} aria-label={`Sub-cluster ${sc.name}`} data-testid={`sc-${sc.name}`}>
      <header>
        <Link href={`/fleet?sub=${encodeURIComponent(sc.name)}`} className="name grow clip" title="Its nodes">{sc.name}</Link>
        <span className={`state tone-${state.tone}`} title={state.detail}><ToneIcon tone={state.tone} /><span>{state.word}</span></span>
      </header>
      <div className="body">
        <Life sc={sc} />
        <dl className="facts small">
          <div><dt>Leader</dt><dd className="clip">{sc.leader || "none"}</dd></div>
          <div><dt>Epoch</dt><dd>{sc.epoch}</dd></div>
          <div><dt>Policy</dt><dd>{sc.policy_version === null ? "–" : `v${sc.policy_version}`}</dd></div>
          <div><dt>Nodes</dt><dd>{nodesLine(sc)}</dd></div>
          {old && <div><dt>Numbers</dt><dd>{sc.summary_age_s == null ? "none published" : `${coarse(sc.summary_age_s * 1000)} old`}</dd></div>}
        </dl>
        {there(sc.capacity).map(({ axis, title, number, measured }) => (
          <Amount key={axis} name={own ? `${title}, yours` : title} allocated={sc.allocated[axis]} used={sc.used && measured?.(sc.used)} capacity={sc.capacity[axis]} describe={number} />
        ))}
        <dl className="facts small">
          <div><dt>{own ? "Yours live" : "Live"}</dt><dd>{count(sc.live_containers)}</dd></div>
          <div><dt>{own ? "Yours waiting" : "Waiting"}</dt><dd>{count(sc.pending.containers)}</dd></div>
          {sc.would_preempt && <div><dt>Would preempt</dt><dd title="Preemption only observes: nothing is stopped">{count(sc.would_preempt.marked)} now, {count(sc.would_preempt.stopped)} so far</dd></div>}
          {sc.placed_per_s != null && <div><dt>Decisions</dt><dd title="Containers allocated and ended, over the last ten seconds">{short(sc.placed_per_s + (sc.ended_per_s ?? 0))} /s</dd></div>}
          {sc.rounds_per_s != null && <div><dt>Rounds</dt><dd>{short(sc.rounds_per_s)} /s</dd></div>}
          {sc.round_ms != null && <div><dt>Last round</dt><dd>{short(sc.round_ms)} ms</dd></div>}
          {compared?.allocation_latency_p50_s != null && (
            <div><dt>Submit to start</dt><dd title="Median and 99th percentile of tasks that started in the last five minutes">{duration(compared.allocation_latency_p50_s * 1000)}
              {compared.allocation_latency_p99_s != null && <span className="muted">, p99 {duration(compared.allocation_latency_p99_s * 1000)}</span>}</dd></div>
          )}
        </dl>
        {operator && <Suspense><SubClusterLife sc={sc} /></Suspense>}
      </div>
    </section>
  );
}

/** What is going on with a sub-cluster that does not simply run. */
function Life({ sc }: { sc: SubCluster }) {
  if (sc.state === "running") return null;
  const left = leftThere(sc);
  const said = {
    joining: `Waits for ${sc.waits_for?.join(" and ") || "its first round"}.`,
    draining: left ? `${left} left${sc.deadline ? `; what runs on ${moment(sc.deadline)} is stopped` : ""}.` : "Empty: it can be decommissioned.",
    lost: left ? `${left} left.` : "Nothing is left there.",
    decommissioned: "It has left for good.",
  }[sc.state];
  return <p className="small">{said}{sc.message && <span className="muted"> {sc.message}</span>}</p>;
}

function nodesLine(sc: SubCluster): string {
  const bad = Object.entries(sc.nodes).filter(([state, n]) => n > 0 && state !== "up" && state !== "total");
  const away = (["cordoned", "draining"] as const).filter((duty) => sc.duties?.[duty]).map((duty) => `${sc.duties?.[duty]} ${duty}`);
  const closed = sc.duties?.closed ? [`${count(sc.duties.closed)} closed`] : [];
  return [`${count(sc.duties?.open ?? sc.nodes.up ?? 0)} in service`, ...closed, ...bad.map(([state, n]) => `${n} ${state}`), ...away].join(", ");
}

function Amount({ name, allocated, used, capacity, describe }: {
  name: string; allocated: number; used?: number | undefined; capacity: number; describe: (n: number) => string;
}) {
  return (
    <div className="amount">
      <span className="muted">{name}</span>
      <Meter label={name} allocated={allocated} used={used} capacity={capacity} describe={describe} />
      <span className="num">{describe(allocated)} <span className="muted">of {describe(capacity)}</span></span>
    </div>
  );
}
