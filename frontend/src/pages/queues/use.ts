/** A queue's line over time, and what is marked on it. Pure. */
import type { SeriesEvent } from "../../charts/series";

/** Values from 0 to `most` as an SVG path in a square of 100; gaps where nothing is known. */
export function linePath(values: (number | null)[], most: number): string {
  const wide = Math.max(1, values.length - 1);
  let pen = "M";
  return values.map((v, i) => {
    if (v === null) { pen = "M"; return ""; }
    const step = `${pen}${((100 * i) / wide).toFixed(1)} ${(96 - (most > 0 ? (92 * v) / most : 0)).toFixed(1)}`;
    pen = "L";
    return step;
  }).join("");
}

/** Where the changes of the policy lie on that line, from 0 to 100, and what they were: those within its points. */
export function policyMarks(at: number[], events: SeriesEvent[]): { x: number; event: SeriesEvent }[] {
  const [first, last] = [at[0], at.at(-1)];
  if (first === undefined || last === undefined || last <= first) return [];
  const end = last + (last - first) / (at.length - 1); // the last point stands for a while, too
  return events.filter((e) => e.kind !== "sub-cluster")
    .map((event) => ({ event, s: Date.parse(event.at) / 1000 }))
    .filter(({ s }) => s >= first && s < end)
    .map(({ event, s }) => ({ event, x: Math.min(100, (100 * (s - first)) / (last - first)) }));
}
