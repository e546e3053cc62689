/** A slider through the range: the chosen moment is marked on every chart and shown beside them. */
import { timeLabel, type Span } from "../../charts/series";

export function Scrubber({ span, at, stepS, choose }: { span: Span; at: number | null; stepS: number; choose: (at: number) => void }) {
  const value = Math.min(span.to, Math.max(span.from, at ?? span.to));
  return (
    <label className="scrubber">
      <span className="small muted">Moment</span>
      <input type="range" min={span.from} max={span.to} step={stepS} value={value} onChange={(e) => choose(Number(e.target.value))}
        aria-valuetext={at === null ? "none chosen" : timeLabel(value, stepS)} />
      <output className="small">{at === null ? "click a chart, or slide" : timeLabel(at, stepS)}</output>
    </label>
  );
}
