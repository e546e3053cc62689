import type { SubCluster } from "../../api/types";
import { coarse, cores, count, memory, short } from "../../format/units";
import { Meter } from "../../ui/bars";
import { ToneIcon } from "../../ui/icons";
import { health, summaryStale } from "./fleet";

export function SubClusterCard({ sc }: { sc: SubCluster }) {
  const state = health(sc);
  const old = summaryStale(sc);
  return (
    <section className={`card sc ${old ? "stale" : ""}`} aria-label={`Sub-cluster ${sc.name}`} data-testid={`sc-${sc.name}`}>
      <header>
        <span className="name grow clip">{sc.name}</span>
        <span className={`state tone-${state.tone}`} title={state.detail}><ToneIcon tone={state.tone} /><span>{state.word}</span></span>
      </header>
      <div className="body">
        <dl className="facts small">
          <div><dt>Leader</dt><dd className="clip">{sc.leader || "none"}</dd></div>
          <div><dt>Epoch</dt><dd>{sc.epoch}</dd></div>
          <div><dt>Policy</dt><dd>{sc.policy_version === null ? "–" : `v${sc.policy_version}`}</dd></div>
          <div><dt>Nodes</dt><dd>{nodesLine(sc)}</dd></div>
          {old && <div><dt>Numbers</dt><dd>{sc.summary_age_s == null ? "none published" : `${coarse(sc.summary_age_s * 1000)} old`}</dd></div>}
        </dl>
        <Amount name="Memory" allocated={sc.allocated.memory_mib} used={sc.used?.memory_mib} capacity={sc.capacity.memory_mib} describe={memory} />
        <Amount name="Cores" allocated={sc.allocated.vcores_milli} used={sc.used?.cpu_milli} capacity={sc.capacity.vcores_milli} describe={cores} />
        {sc.capacity.gpus > 0 && <Amount name="GPUs" allocated={sc.allocated.gpus} capacity={sc.capacity.gpus} describe={String} />}
        <dl className="facts small">
          <div><dt>Live</dt><dd>{count(sc.live_containers)}</dd></div>
          <div><dt>Waiting</dt><dd>{count(sc.pending.containers)}</dd></div>
          {sc.placed_per_s != null && <div><dt>Placed</dt><dd>{short(sc.placed_per_s)} /s</dd></div>}
          {sc.rounds_per_s != null && <div><dt>Rounds</dt><dd>{short(sc.rounds_per_s)} /s</dd></div>}
          {sc.round_ms != null && <div><dt>Last round</dt><dd>{short(sc.round_ms)} ms</dd></div>}
        </dl>
      </div>
    </section>
  );
}

function nodesLine(sc: SubCluster): string {
  const bad = Object.entries(sc.nodes).filter(([state, n]) => n > 0 && state !== "up" && state !== "total");
  const away = (["cordoned", "draining"] as const).filter((duty) => sc.duties?.[duty]).map((duty) => `${sc.duties?.[duty]} ${duty}`);
  return [`${count(sc.nodes.up ?? 0)} up`, ...bad.map(([state, n]) => `${n} ${state}`), ...away].join(", ");
}

function Amount({ name, allocated, used, capacity, describe }: {
  name: string; allocated: number; used?: number; capacity: number; describe: (n: number) => string;
}) {
  return (
    <div className="amount">
      <span className="muted">{name}</span>
      <Meter label={name} allocated={allocated} used={used} capacity={capacity} describe={describe} />
      <span className="num">{describe(allocated)} <span className="muted">of {describe(capacity)}</span></span>
    </div>
  );
}
