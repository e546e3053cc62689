/** Every simulation that was asked for, and one by its address. */
import "./whatif.css";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { post, type ApiError } from "../../../api/client";
import type { PageProps } from "../../../app/pages";
import { Chart } from "../../../charts/Chart";
import { RESOURCES } from "../../../format/resources";
import { hydractl } from "../../../format/shell";
import { duration, moment } from "../../../format/units";
import { Card, Command, Empty, Failed, Loading } from "../../../ui/parts";
import { inUseOverTime } from "../model/answer";
import { whatOf, windowWords } from "../model/asking";
import { Paged, useChosen, useCursor } from "../pager";
import { Changes, Refusal } from "../parts";
import type { Diff, SimulationDetail, SimulationResult } from "../types";
import { Outcome } from "./Outcome";
import { SimulationState, SimulationTable } from "./SimulationTable";
import { useKeptFocus } from "./useKeptFocus";
import { useSimulation, useSimulations } from "./useSimulation";

export default function SimulationsTab({ id }: PageProps & { id: string }) {
  const cursor = useCursor();
  const chosen = /^[1-9]\d*$/.test(id) ? Number(id) : null;
  const [search] = useChosen();
  const version = Number(search.get("version")) || null;
  const page = useSimulations(`page_size=20${version ? `&version=${version}` : ""}${cursor.query}`);
  return (
    <>
      {chosen !== null ? <One key={chosen} id={chosen} /> : id && <Card><Empty title="There is no such simulation">A simulation's address ends with its number.</Empty></Card>}
      <Card flush title={version ? `Simulations of version ${version}` : "Simulations"} aside={<>{version && <Link className="small" href="/policy/simulations">of all versions</Link>}<Command text={hydractl("policy", "simulations", ...(version ? ["--version", version] : []))} /></>}>
        <Paged read={page} cursor={cursor} empty={<Empty title="Nothing was simulated yet">Change the <Link href="/policy/edit">policy's document</Link> and see its plan, or choose a version in the <Link href="/policy/history">history</Link>: there it is asked what that would have done. What a drain would do is asked where a sub-cluster is drained, in the <Link href="/">overview</Link>.</Empty>}>
          {(rows) => <SimulationTable rows={rows} chosen={chosen} />}
        </Paged>
      </Card>
    </>
  );
}

function One({ id }: { id: number }) {
  const read = useSimulation(id);
  const found = read.data;
  const kept = useKeptFocus(`${found?.state}`);
  if (!found) return read.error ? <Failed error={read.error} retry={() => void read.refetch()} /> : <Loading lines={6} />;
  return (
    <>
      <Card title={`Simulation ${id}: ${whatOf(found)}, against ${found.kind === "drain" ? "as it is" : `version ${found.base}`}`} label={`Simulation ${id}`} aside={<SimulationState state={found.state} />}>
        <Facts simulation={found} />
        <Changed simulation={found} />
        <div {...kept}><Outcome simulation={found} error={read.error} retry={() => void read.refetch()} /></div>
        <div className="policy-actions row wrap"><Command text={`hydractl policy simulations ${id}`} /></div>
      </Card>
      {found.result && <OverTime result={found.result} from={found.from} />}
    </>
  );
}

function Facts({ simulation: s }: { simulation: SimulationDetail }) {
  return (
    <dl className="facts whatif-facts">
      <div><dt>{s.trace_name ? "Over" : "Window"}</dt><dd>{windowWords(s)}</dd></div>
      <div><dt>Asked by</dt><dd>{s.requested_by ?? "an account that is gone"}</dd></div>
      <div><dt>Asked</dt><dd>{moment(s.requested_at)}</dd></div>
      {s.started_at && s.ended_at && <div><dt>Took</dt><dd>{duration(Date.parse(s.ended_at) - Date.parse(s.started_at))}</dd></div>}
      <div><dt>Seeds</dt><dd>{s.seeds}</dd></div>
      {s.queues && Object.keys(s.queues).length > 0 && <div><dt>Jobs go</dt><dd>{Object.entries(s.queues).slice(0, 3).map(([old, to]) => `from ${old} to ${to}`).join(", ")}{Object.keys(s.queues).length > 3 && " and others"}</dd></div>}
      {s.sample < 1 && <div><dt>Sample</dt><dd>{(100 * s.sample).toFixed(1)} % of jobs and nodes</dd></div>}
    </dl>
  );
}

/** What the simulated document says otherwise than what it is compared to; read when somebody wants to know. */
function Changed({ simulation: s }: { simulation: SimulationDetail }) {
  const [open, setOpen] = useState(false);
  const diff = useQuery<Diff, ApiError>({ queryKey: ["policy-diff", s.base, "simulation", s.id], enabled: open, retry: false, staleTime: Infinity, queryFn: () => post<Diff>("/policy/diff", { from: s.base, document: s.document }) });
  if (s.kind !== "policy") return null;
  return (
    <details className="whatif-changed" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>What changes from version {s.base}</summary>
      {diff.error ? <Refusal error={diff.error} /> : diff.data ? <Changes changes={diff.data.changes} total={diff.data.total} /> : open && <Loading lines={2} />}
    </details>
  );
}

function OverTime({ result, from }: { result: SimulationResult; from: string }) {
  const drawn = useMemo(() => inUseOverTime(result, Date.parse(from) / 1000), [result, from]);
  const span = useMemo(() => ({ from: drawn?.at[0] ?? 0, to: (drawn?.at.at(-1) ?? 0) + (drawn?.stepS ?? 0) }), [drawn]);
  if (!drawn) return null;
  return (
    <Chart title={`${RESOURCES.find((r) => r.axis === drawn.resource)?.title ?? drawn.resource} in use over time`} unit="part of all" at={drawn.at} stepS={drawn.stepS} lines={drawn.lines} span={span} format={(v) => `${(100 * v).toFixed(0)} %`} sync="simulation" />
  );
}
