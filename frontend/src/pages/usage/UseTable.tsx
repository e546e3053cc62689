/** What was used by queue or by tag, a row each: what was asked for, how much of it was used, and what was wasted. */
import type { ReactNode } from "react";
import { count, duration, short } from "../../format/units";
import { meanWait, percent, type Part, type Spent } from "./ledger";

/** Left out where there are none. */
const GPUS = "GPU hours";
const HEADS: [name: string, why?: string][] = [
  ["Containers"], ["Failed", "Those that were stopped or lost are not counted"],
  ["GiB hours"], ["Memory used", "Of the memory that was asked for where it was measured, at each container's peak"], ["GiB hours wasted", "Asked for, and not used at each container's peak"],
  ["Core hours"], ["Cores used", "Of the cores that were asked for where it was measured; more where others left theirs idle"], ["Core hours wasted", "Asked for, and left idle"],
  [GPUS], ["Waited", "Of a task from its submit to its start, on average"],
];

function used(part: Part): string {
  const of = percent(part.used, part);
  return of === null ? "–" : `${of} %`;
}

function Cells({ texts, shown }: { texts: string[]; shown: { head: string; i: number }[] }) {
  return <>{shown.map(({ head, i }) => <td key={head} className="num" data-label={head}>{texts[i]}</td>)}</>;
}

const amount = (n: number | null): string => (n === null ? "–" : short(n));

function cells(s: Spent): string[] {
  const wait = meanWait(s);
  return [
    count(s.containers), count(s.failed), short(s.memory.held), used(s.memory), amount(s.memory.wasted),
    short(s.cores.held), used(s.cores), amount(s.cores.wasted), short(s.gpus), wait === null ? "–" : duration(wait),
  ];
}

export function UseTable({ of, rows, name }: { of: string; rows: { key: string; spent: Spent }[]; name: (key: string) => ReactNode }) {
  const gpus = rows.some(({ spent }) => spent.gpus > 0);
  const shown = HEADS.map(([head, why], i) => ({ head, why, i })).filter(({ head }) => gpus || head !== GPUS);
  return (
    <table className="grid stacked labelled use">
      <thead><tr><th scope="col">{of}</th>{shown.map(({ head, why }) => <th key={head} scope="col" className="num" title={why}>{head}</th>)}</tr></thead>
      <tbody>{rows.map(({ key, spent }) => (
        <tr key={key}>
          <td className="clip">{name(key)}</td>
          <Cells texts={cells(spent)} shown={shown} />
        </tr>
      ))}</tbody>
    </table>
  );
}
