/** Where one question stands, whatever its kind: under way, why there is no answer, or the answer. */
import { Failed, Loading, Notice } from "../../../ui/parts";
import type { ApiError } from "../../../api/client";
import { over } from "../model/asking";
import type { SimulationDetail } from "../types";
import { Answer } from "./Answer";
import { Milestone, Progress } from "./Progress";

export function Outcome({ simulation, error, retry }: { simulation: SimulationDetail | undefined; error: ApiError | null; retry: () => void }) {
  return (
    <div className="whatif-outcome">
      <Milestone simulation={simulation} />
      {error && (!simulation || !over(simulation)) && <Failed error={error} retry={retry} />}
      {simulation ? <Standing simulation={simulation} /> : !error && <Loading lines={3} />}
    </div>
  );
}

function Standing({ simulation }: { simulation: SimulationDetail }) {
  if (!over(simulation)) return <Progress simulation={simulation} />;
  if (simulation.result) return <Answer simulation={simulation} result={simulation.result} />;
  if (simulation.state === "failed") return <Notice kind="bad"><strong>It failed.</strong> {simulation.message}</Notice>;
  return <p className="muted">It was cancelled, so there is no answer.</p>;
}
