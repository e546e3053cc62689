/** Queues or users beside a picture of their change: a mark on its interval, all on one scale, and the numbers to read. */
import { Fragment } from "react";
import { BY_PART, domain, verdictOf, type ByPart, type Kind, type PartRow, type Row } from "../model/answer";
import { change, ends, type Verdict } from "../model/figures";
import { Wide } from "../../../ui/wide";
import { BeforeAfter } from "./Change";

const HEIGHT = 26;
const FIGURES = Object.keys(BY_PART) as ByPart[];
const SHAPES: [Verdict, string][] = [["better", "better"], ["worse", "worse"], ["unclear", "unclear: its interval has 0 in it"], ["", "no interval: too little to tell"]];

export function PartTable({ rows, kind, by }: { rows: PartRow[]; kind: Kind; by: ByPart }) {
  const scale = domain(rows.map((row) => row.figures[by]));
  const unit = rows[0]?.figures[by].about.unit ?? "";
  const words = by === "share_held" ? SHAPES.map(([v, text]) => [v === "better" ? "higher" : v === "worse" ? "lower" : v, v === "better" ? "higher" : v === "worse" ? "lower" : text] as const) : SHAPES;
  return (
    <>
      <Wide>
        <table className="grid whatif-queues" aria-label={`Change by ${kind}`}>
          <thead>
            <tr><th>{kind === "queue" ? "Queue" : "User"}</th><th className="whatif-picture"><span className="sr">Picture of the change of {BY_PART[by].toLowerCase()}</span><Axis scale={scale} unit={unit} /></th>{FIGURES.map((name) => <th key={name}>{rows[0]?.figures[name].about.title}</th>)}</tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <td className="wrap-any whatif-queue"><Broken name={row.name} /></td>
                <td className="whatif-picture"><Dot row={row.figures[by]} scale={scale} /></td>
                {FIGURES.map((name) => <BeforeAfter key={name} row={row.figures[name]} />)}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <p className="legend whatif-legend" aria-hidden="true">
        <span>Drawn: the change of {BY_PART[by].toLowerCase()} with its 95 % interval;</span>
        {words.map(([found, text]) => <span key={found}><svg width="16" height="14" className="whatif-dots"><Shape verdict={found} x={8} y={7} /></svg>{text}</span>)}
      </p>
    </>
  );
}

/** A queue's name, broken after its dots rather than anywhere. */
const Broken = ({ name }: { name: string }) => name.split(/(?<=\.)/).map((piece, n) => <Fragment key={n}>{n > 0 && <wbr />}{piece}</Fragment>);

const part = (v: number, [low, high]: [number, number]): number => (100 * (v - low)) / (high - low);
const at = (v: number, scale: [number, number]): string => `${Math.min(100, Math.max(0, part(v, scale))).toFixed(2)}%`;

/** The ends of the scale, its unit at one of them, and its 0, unless they would stand on one another. */
function Axis({ scale, unit }: { scale: [number, number]; unit: string }) {
  const word = (v: number) => change({ value: v, low: null, high: null, over: "", count: 0 }, unit).text;
  const zero = part(0, scale);
  return (
    <svg width="100%" height="16" className="whatif-axis" aria-hidden="true">
      {zero > 35 && <text x="0" y="12">{word(scale[0]).split(" ")[0]}</text>}
      {zero < 65 && <text x="100%" y="12" textAnchor="end">{word(scale[1])}</text>}
      <text className="zero" x={`${zero}%`} y="12" textAnchor={zero < 8 ? "start" : zero > 92 ? "end" : "middle"}>0</text>
    </svg>
  );
}

function Dot({ row, scale }: { row: Row; scale: [number, number] }) {
  const by = row.after.change?.value ?? null;
  const between = row.after.change && ends(row.after.change);
  const found = verdictOf(row);
  return (
    <svg width="100%" height={HEIGHT} className="whatif-dots" aria-hidden="true">
      <line className="zero" x1={at(0, scale)} x2={at(0, scale)} y1="0" y2={HEIGHT} />
      {by !== null && between && (
        <g data-verdict={found}>
          <line className="between" x1={at(between[0], scale)} x2={at(between[1], scale)} y1={HEIGHT / 2} y2={HEIGHT / 2} />
          {between.map((end, n) => (end === Math.min(scale[1], Math.max(scale[0], end)) ? <line key={n} className="between" x1={at(end, scale)} x2={at(end, scale)} y1={HEIGHT / 2 - 4} y2={HEIGHT / 2 + 4} /> : null))}
        </g>
      )}
      {by !== null && <svg x={at(by, scale)} y={HEIGHT / 2} overflow="visible"><Shape verdict={found} x={0} y={0} /></svg>}
    </svg>
  );
}

/** Another shape for each meaning: a disc, a diamond, a ring, a small dot. */
function Shape({ verdict, x, y }: { verdict: Verdict; x: number; y: number }) {
  if (verdict === "worse" || verdict === "lower") return <path data-verdict={verdict} className="mark" d={`M${x} ${y - 6}l6 6l-6 6l-6 -6z`} />;
  if (verdict === "unclear") return <circle data-verdict="unclear" className="mark" cx={x} cy={y} r="4.2" />;
  return <circle data-verdict={verdict} className="mark" cx={x} cy={y} r={verdict === "" ? 2.6 : 5} />;
}
