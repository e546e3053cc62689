/** In which order sub-clusters get a version, how long each stage and then all of it is watched, and what stops it. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { GUARDS } from "../model/guards";
import type { Rollout, Stage } from "../types";

export interface StagedPlan {
  /** Null until somebody has chosen: then the first sub-cluster is the canary. */
  stages: Stage[] | null;
  /** For how long all of it is watched once it holds everywhere, in s. */
  watch: number;
  guards: Record<string, string>;
  onBreach: Rollout["on_breach"];
}

export function Stages({ names, stages, plan, set, bad, tried }: {
  names: string[]; stages: Stage[]; plan: StagedPlan; set: (plan: StagedPlan) => void; bad: boolean;
  /** How much of the change the stages before the last one try. */
  tried: string;
}) {
  const taken = new Set(stages.flatMap((stage) => stage.sub_clusters));
  const change = (at: number, more: Partial<Stage>) => set({ ...plan, stages: stages.map((stage, n) => (n === at ? { ...stage, ...more } : stage)) });
  const free = names.filter((name) => !taken.has(name));
  return (
    <div className="policy-stages">
      {stages.length > 0 && <p className="small" role="status">{tried && <><b>{tried}</b> </>}<span className="muted">Placement, preemption and what else concerns one sub-cluster alone change stage by stage; queues, partitions, access, routing, shares and admission with the last one, everywhere at once.</span></p>}
      <ol>
        {stages.map((stage, at) => (
          <li key={at}>
            <fieldset>
              <legend>{at === 0 ? "Canary" : `Stage ${at + 1}`}</legend>
              <div className="row wrap policy-subs">
                {names.map((name) => (
                  <label key={name} className="row">
                    <input type="checkbox" checked={stage.sub_clusters.includes(name)} disabled={!stage.sub_clusters.includes(name) && taken.has(name)}
                      onChange={(e) => change(at, { sub_clusters: e.currentTarget.checked ? [...stage.sub_clusters, name] : stage.sub_clusters.filter((one) => one !== name) })} />{name}
                  </label>
                ))}
              </div>
              <div className="row wrap">
                <Watched value={stage.soak_s} set={(soak_s) => change(at, { soak_s })} />
                {stages.length > 1 && <Button variant="subtle" size="compact-sm" onClick={() => set({ ...plan, stages: stages.filter((_, n) => n !== at) })}>Remove the stage</Button>}
              </div>
            </fieldset>
          </li>
        ))}
        <li>
          <fieldset>
            <legend>Everywhere</legend>
            <div className="row wrap"><Watched value={plan.watch} set={(watch) => set({ ...plan, watch })} /></div>
            {plan.watch === 0 && <p className="muted small" role="status">Nothing watches it then, so nothing takes it back.</p>}
          </fieldset>
        </li>
      </ol>
      {stages.length > 0 && <Button variant="default" size="compact-sm" disabled={!free.length} onClick={() => set({ ...plan, stages: [...stages, { sub_clusters: free.slice(0, 1), soak_s: stages.at(-1)?.soak_s ?? 60, everywhere: false }] })}>Another stage</Button>}
      <fieldset className="policy-guards">
        <legend>Guards</legend>
        {GUARDS.map((guard) => (
          <TextInput key={guard.name} label={guard.label} description={guard.hint} placeholder="not looked at" inputMode="decimal" value={plan.guards[guard.name] ?? ""}
            error={bad && plan.guards[guard.name]?.trim() && !(Number(plan.guards[guard.name]!.replace(/ ?%$/, "")) > 0)} onChange={(e) => set({ ...plan, guards: { ...plan.guards, [guard.name]: e.currentTarget.value } })} />
        ))}
        <NativeSelect label="When one is broken" description="whoever looks or not" value={plan.onBreach} data={[{ value: "rollback", label: "roll back" }, { value: "pause", label: "pause, and wait for me" }]} onChange={(e) => set({ ...plan, onBreach: e.currentTarget.value as StagedPlan["onBreach"] })} />
      </fieldset>
    </div>
  );
}

function Watched({ value, set }: { value: number; set: (seconds: number) => void }) {
  return <TextInput type="number" min={0} max={2_592_000} label="Watched for, s" value={value} onChange={(e) => set(Math.max(0, Number(e.currentTarget.value)))} />;
}
