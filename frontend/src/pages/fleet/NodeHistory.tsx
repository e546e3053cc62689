/** What a node had given and what was used of it, over time, with what was changed meanwhile. */
import "../../styles/usage.css";
import { Link, useLocation, useSearch } from "wouter";
import type { Node } from "../../api/types";
import { Chart } from "../../charts/Chart";
import { Failed, Loading } from "../../ui/parts";
import { Events } from "../usage/Events";
import { useSeries, type Read } from "../usage/useSeries";
import { RANGES, address, drawnOf, parse, spanOf, type View } from "../usage/view";

const POINTS = 240;
const AGAIN_MS = 30_000;
const SHOWN = RANGES.filter((range) => ["1h", "6h", "24h"].includes(range.key));

export default function NodeHistory({ node }: { node: Node }) {
  const [, go] = useLocation();
  const view: View = { ...parse(useSearch()), scope: `node:${node.id}`, span: null, at: null };
  const choose = (last: string) => go(`/fleet/nodes/${node.id}${address({ ...view, scope: "", last })}`, { replace: true });
  const read = useSeries(view, POINTS, AGAIN_MS);
  return (
    <section className="usage" aria-label="Usage history">
      <div className="usage-bar">
        <div className="segments" role="group" aria-label="Range up to now">
          {SHOWN.map((r) => <button key={r.key} type="button" aria-pressed={r.key === view.last} onClick={() => choose(r.key)}>{r.name}</button>)}
        </div>
        <Link href={`/usage${address(view)}`} className="small">Look closer</Link>
      </div>
      {read.error && !read.data ? <Failed error={read.error} retry={() => void read.refetch()} />
        : read.data ? <><Charts answer={read.data} view={view} /><Events events={read.data.events} stepS={read.data.step_s} linked /></> : <Loading lines={6} label="Loading the node's history" />}
    </section>
  );
}

function Charts({ answer, view }: { answer: Read; view: View }) {
  const span = spanOf(view, answer.readAt / 1000);
  return (
    <div className="chart-grid">
      {drawnOf(answer, view.scope).map(({ title, unit, lines, format }) => (
        <Chart key={title} title={title} unit={unit} at={answer.at} stepS={answer.step_s} lines={lines} span={span} format={format} sync="node" events={answer.events} />
      ))}
    </div>
  );
}
