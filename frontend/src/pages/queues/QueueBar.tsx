/** One queue's bar: used as fill, what it wants as an outline behind it, its guarantee as a tick, its maximum as the end of the track. */
import { RESOURCES } from "../../format/resources";
import { large, percent } from "../../format/units";
import { fullOf, type QueueRow, type Scale } from "./tree";

/** Thousands and millions of cores are cut short, so that columns stay narrow. */
export function amount(axis: number, n: number): string {
  const r = RESOURCES[axis];
  if (r?.axis === "vcores_milli") return `${large(n / r.large)} ${r.word}`;
  return r?.said(n) ?? String(n);
}

/** All that the bar shows, in words. */
function barText(row: QueueRow): string {
  const say = (n: number) => amount(row.axis, n);
  const words = [`${row.path}, ${RESOURCES[row.axis]?.word}: uses ${say(row.used)} (${percent(row.used, row.whole)} of all)`, `guaranteed ${say(row.guaranteed)}`, `at most ${say(row.maximum)}`];
  if (row.pending > 0) words.push(`${say(row.pending)} pending`);
  if (row.borrowed > 0) words.push(`borrows ${say(row.borrowed)}`);
  if (row.lent >= 1) words.push(`lends ${say(Math.round(row.lent))}`);
  return words.join(", ");
}

export function QueueBar({ row, scale }: { row: QueueRow; scale: Scale }) {
  const full = fullOf(row, scale);
  const at = (n: number) => `${(full > 0 ? 100 * Math.min(1, n / full) : 0).toFixed(2)}%`;
  const own = row.used - row.borrowed; // of a part that is one's own, nobody can say what is borrowed
  const wanted = Math.min(row.used + row.pending, row.whole);
  return (
    <svg className="qbar" role="img" aria-label={barText(row)} preserveAspectRatio="none">
      <title>{barText(row)}</title>
      <rect className="qbar-track" y="6" height="8" width={at(row.maximum)} rx="2" />
      {row.pending > 0 && <rect className="qbar-demand" y="4.5" height="11" width={at(wanted)} rx="2" />}
      <rect className="qbar-used" y="6" height="8" width={at(own)} />
      {row.borrowed > 0 && <rect className="qbar-borrowed" x={at(row.guaranteed)} y="6" height="8" width={at(row.borrowed)} />}
      {row.lent >= 1 && <rect className="qbar-lent" x={at(row.used)} y="9" height="2" width={at(row.lent)} />}
      {row.guaranteed > 0 && row.guaranteed < full && <rect className="qbar-tick" x={at(row.guaranteed)} y="2" width="2" height="16" />}
    </svg>
  );
}

export function Legend() {
  return (
    <div className="legend" aria-label="Legend">
      <span><i className="swatch q-used" />used</span><span><i className="swatch q-borrowed" />of it borrowed</span>
      <span><i className="swatch q-demand" />pending</span><span><i className="q-tick" />guaranteed</span>
      <span><i className="swatch q-lent" />lent to others</span><span><i className="swatch free" />up to its maximum</span>
    </div>
  );
}
