/** In which order sub-clusters get a version, how long each stage is watched, and what stops it. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { GUARDS } from "../model/guards";
import type { Rollout, Stage } from "../types";

export interface StagedPlan {
  /** Null until somebody has chosen: then the first sub-cluster is the canary. */
  stages: Stage[] | null;
  guards: Record<string, string>;
  onBreach: Rollout["on_breach"];
}

export function Stages({ names, stages, plan, set, bad }: { names: string[]; stages: Stage[]; plan: StagedPlan; set: (plan: StagedPlan) => void; bad: boolean }) {
  const taken = new Set(stages.flatMap((stage) => stage.sub_clusters));
  const change = (at: number, more: Partial<Stage>) => set({ ...plan, stages: stages.map((stage, n) => (n === at ? { ...stage, ...more } : stage)) });
  const free = names.filter((name) => !taken.has(name));
  return (
    <div className="policy-stages">
      <p className="muted small">Placement, preemption and what else concerns one sub-cluster alone change stage by stage and are watched. Queues, partitions, access, routing, shares and admission change after the last stage, everywhere at once, and nothing watches them.</p>
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
                <TextInput type="number" min={0} max={2_592_000} label="Watched for, s" value={stage.soak_s} onChange={(e) => change(at, { soak_s: Math.max(0, Number(e.currentTarget.value)) })} />
                {stages.length > 1 && <Button variant="subtle" size="compact-sm" onClick={() => set({ ...plan, stages: stages.filter((_, n) => n !== at) })}>Remove the stage</Button>}
              </div>
            </fieldset>
          </li>
        ))}
      </ol>
      <Button variant="default" size="compact-sm" disabled={!free.length} onClick={() => set({ ...plan, stages: [...stages, { sub_clusters: free.slice(0, 1), soak_s: stages.at(-1)?.soak_s ?? 60 }] })}>Another stage</Button>
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
