/** One figure before and after, and its change: the mark stands only where the interval leaves out 0. */
import { verdictOf, type Row } from "../model/answer";
import { change, value, type Verdict } from "../model/figures";

const SIGNS: Partial<Record<Verdict, string>> = { better: "✓ better", worse: "✕ worse", higher: "higher", lower: "lower", unclear: "unclear" };

export function Values({ row }: { row: Row }) {
  return (
    <>
      <td className="num">{value(row.before?.value.value ?? null, row.about.unit)}</td>
      <td className="num"><b>{value(row.after.value.value, row.about.unit)}</b></td>
    </>
  );
}

function Mark({ row }: { row: Row }) {
  const found = verdictOf(row);
  return SIGNS[found] ? <span className="whatif-mark" data-verdict={found}>{SIGNS[found]}</span> : null;
}

function Amount({ row }: { row: Row }) {
  return <b data-clear={["", "unclear"].includes(verdictOf(row)) ? undefined : ""}>{change(row.after.change, row.about.unit).text}</b>;
}

function Interval({ row }: { row: Row }) {
  const { interval } = change(row.after.change, row.about.unit);
  return interval ? <span className="muted small nowrap">{interval}</span> : null;
}

export const ChangeCell = ({ row }: { row: Row }) => <td><span className="whatif-change"><Amount row={row} /><Mark row={row} /><Interval row={row} /></span></td>;

/** In a narrow cell: what was and what would be above, the change below. */
export function BeforeAfter({ row }: { row: Row }) {
  return (
    <td className="whatif-figure">
      <div><span className="muted">{value(row.before?.value.value ?? null, row.about.unit)}</span> → <b>{value(row.after.value.value, row.about.unit)}</b> <Mark row={row} /></div>
      <div className="whatif-change"><Amount row={row} /> <Interval row={row} /></div>
    </td>
  );
}
