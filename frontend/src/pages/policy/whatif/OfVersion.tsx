/** A version's simulations, those of its document from before it was a version as well, and another one. */
import { Link } from "wouter";
import { useMe } from "../../../app/session";
import { Card, Empty, Failed, Loading } from "../../../ui/parts";
import { SimulateCard } from "./SimulateCard";
import { SimulationTable } from "./SimulationTable";
import { useSimulations } from "./useSimulation";

/** `inForce`: it is what others are compared to, so nothing new is asked of it. */
export function OfVersion({ version, inForce, shown, show, close }: { version: number; inForce: boolean; shown: number | null; show: (id: number) => void; close: () => void }) {
  const { data, error, refetch } = useSimulations(`version=${version}&page_size=5`);
  const operator = useMe().data?.role === "operator";
  return (
    <>
      <Card flush title={`Simulations of version ${version}`} aside={<button type="button" className="linkish small" onClick={close}>Close</button>}>
        {data?.results.length ? <SimulationTable rows={data.results} chosen={shown} />
          : data ? <Empty title={`Version ${version} was not simulated yet`}>Those of a document that says the same are listed here as well.</Empty>
          : error ? <div className="body"><Failed error={error} retry={() => void refetch()} /></div> : <Loading lines={3} />}
        {data?.next && <p className="policy-pager"><Link href={`/policy/simulations?version=${version}`}>All simulations of version {version}</Link></p>}
      </Card>
      {((operator && !inForce) || shown !== null) && <SimulateCard what={{ version }} shown={shown} show={show} />}
    </>
  );
}
