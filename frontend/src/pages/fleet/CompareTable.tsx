/** Sub-clusters side by side: a row for each measure, and for each component's setting that is not the same in all. */
import { Link } from "wouter";
import type { Comparison } from "../../api/types";
import { clock } from "../../format/units";
import { State } from "../../ui/parts";
import { groupsOf, type Cell, type Row } from "./compare";

export function CompareTable({ found }: { found: Comparison }) {
  const subs = found.sub_clusters;
  return (
    <table className="grid sides">
      <caption>What each did from {clock(new Date(Date.parse(found.at) - 1000 * found.window_s).toISOString())} to {clock(found.at)}. A bar is a value's part of the largest in its row.</caption>
      <thead>
        <tr>
          <th scope="col">Measure</th>
          {subs.map((c) => <th key={c.name} scope="col"><Link href={`/fleet?sub=${encodeURIComponent(c.name)}`}>{c.name}</Link>{c.state !== "running" && <State state={c.state} />}</th>)}
        </tr>
      </thead>
      {groupsOf(found).map((group) => (
        <tbody key={group.name}>
          <tr className="sides-group"><th scope="rowgroup" colSpan={1 + subs.length}>{group.name}</th></tr>
          {group.rows.map((row) => <Line key={row.name} row={row} names={subs.map((c) => c.name)} />)}
        </tbody>
      ))}
    </table>
  );
}

function Line({ row, names }: { row: Row; names: string[] }) {
  return (
    <tr className={row.setting && "sides-setting"}>
      <th scope="row">{row.setting ? <code>{row.name}</code> : row.name}{row.about && <span className="muted small">{row.about}</span>}</th>
      {row.cells.map((cell, at) => <Value key={names[at]} cell={cell} />)}
    </tr>
  );
}

function Value({ cell }: { cell: Cell }) {
  return (
    <td>
      <span className="sides-value">{cell.text}{cell.of && <span className="muted small">{cell.of}</span>}</span>
      {cell.part !== null && <svg className="sides-bar" preserveAspectRatio="none" aria-hidden="true"><rect width={`${(100 * cell.part).toFixed(1)}%`} height="100%" /></svg>}
    </td>
  );
}
