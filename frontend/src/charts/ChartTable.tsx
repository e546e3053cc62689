/** A chart's numbers as a table and as a file. */
import { useState } from "react";
import { Download } from "../ui/icons";
import { save } from "../ui/save";
import { csv, timeLabel, type Line } from "./series";

interface Props {
  title: string;
  unit: string;
  at: number[];
  stepS: number;
  lines: Line[];
  format: (value: number) => string;
}

export function ChartTable({ title, unit, at, stepS, lines, format }: Props) {
  const [open, setOpen] = useState(false);
  const name = `hydra-${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.csv`;
  const show = open ? "Hide the table" : "As a table";
  return (
    <footer className="chart-foot">
      <button type="button" className="linkish" aria-expanded={open} aria-label={`${show}: ${title}`} onClick={() => setOpen(!open)}>
        {show}
      </button>
      <button type="button" className="linkish" aria-label={`CSV: ${title}`} onClick={() => save(name, csv(at, lines, unit), "text/csv")}>
        <Download /> CSV
      </button>
      {open && (
        <div className="table-wrap chart-table" tabIndex={0} role="region" aria-label={`${title} as a table`}>
          <table className="grid">
            <thead><tr><th scope="col">From</th>{lines.map((l) => <th key={l.label} scope="col" className="num">{l.label}</th>)}</tr></thead>
            <tbody>
              {at.map((t, i) => (
                <tr key={t}>
                  <th scope="row">{timeLabel(t, stepS)}</th>
                  {lines.map((l) => { const v = l.values[i]; return <td key={l.label} className="num">{v === null || v === undefined ? "–" : format(v)}</td>; })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </footer>
  );
}
