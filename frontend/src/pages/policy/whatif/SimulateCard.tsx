/** "What would it have done?": the question, how far it is, and the answer, for a document or a version. */
import "./whatif.css";
import { Link } from "wouter";
import { useMe } from "../../../app/session";
import { Card } from "../../../ui/parts";
import { over, windowWords, type What } from "../model/asking";
import { Ask } from "./Ask";
import { Outcome } from "./Outcome";
import { useKeptFocus } from "./useKeptFocus";
import { useSimulation } from "./useSimulation";

export function SimulateCard({ what, shown, show }: { what: What; shown: number | null; show: (id: number) => void }) {
  const read = useSimulation(shown);
  const simulation = read.data;
  const operator = useMe().data?.role === "operator";
  const kept = useKeptFocus(`${shown} ${simulation?.state}`);
  return (
    <Card title={"version" in what ? `What would version ${what.version} have done?` : "What would it have done?"} aside={shown !== null && <Link className="small" href={`/policy/simulations/${shown}`}>Simulation {shown}</Link>}>
      <div {...kept} className="whatif-outcome">
        <p className="muted small">What happened in a window of the recorded history, or what a trace tells, is simulated twice, under the policy in force and under {"version" in what ? `version ${what.version}` : "this document"}, and compared. Nothing in the cluster changes.</p>
        {operator && (shown === null || read.error || (simulation && over(simulation))) && <Ask what={what} again={simulation !== undefined} onAsked={show} />}
        {simulation && <p className="small">Over {windowWords(simulation)}, with {simulation.seeds === 1 ? "1 seed" : `${simulation.seeds} seeds`}, against version {simulation.base}:</p>}
        {shown !== null && <Outcome simulation={simulation} error={read.error} retry={() => void read.refetch()} />}
      </div>
    </Card>
  );
}
