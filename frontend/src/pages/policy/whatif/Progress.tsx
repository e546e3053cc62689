/** How far a question is: a bar and words for the eye, milestones for the ear, and a way to call it off. */
import { Button } from "@mantine/core";
import { useMe } from "../../../app/session";
import { hydractl } from "../../../format/shell";
import { Command, Failed } from "../../../ui/parts";
import { doing, milestone } from "../model/asking";
import type { Simulation } from "../types";
import { useCancel } from "./useSimulation";

export function Bar({ simulation }: { simulation: Simulation }) {
  const percent = Math.floor(100 * simulation.progress);
  return (
    <svg className="policy-thin whatif-bar" width="100%" height="8" role="progressbar" aria-label={`Simulation ${simulation.id}`} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} aria-valuetext={doing(simulation)}>
      <rect className="ground" width="100%" height="8" /><rect className="going" width={`${percent}%`} height="8" />
    </svg>
  );
}

export function Progress({ simulation }: { simulation: Simulation }) {
  const cancel = useCancel(simulation.id);
  const operator = useMe().data?.role === "operator";
  return (
    <>
      <div className="whatif-progress">
        <div className="grow">
          <p><b className="whatif-percent">{Math.floor(100 * simulation.progress)} %</b> {doing(simulation)}</p>
          <Bar simulation={simulation} />
        </div>
        {operator && <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>Cancel</Button>}
      </div>
      {operator && <div className="policy-actions"><Command text={hydractl("policy", "simulations", simulation.id, "--cancel")} /></div>}
      {cancel.error && <Failed error={cancel.error} />}
    </>
  );
}

/** Said when it changes; it stays in the page, as what comes and goes is not read out everywhere. */
export function Milestone({ simulation }: { simulation: Simulation | undefined }) {
  return <p className="sr" role="status">{simulation ? milestone(simulation) : ""}</p>;
}
