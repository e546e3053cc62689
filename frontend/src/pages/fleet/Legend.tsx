/** What colours and marks of the map mean. */
import type { View } from "./filter";

const ENDS = { allocated: ["free", "full"], used: ["idle", "busy"], reserved: ["nothing held", "all held"] } as const;

export function Legend({ view }: { view: View }) {
  const [low, high] = ENDS[view.fill];
  return (
    <div className="legend" aria-label="Legend">
      <span className="ramp">{low} <i aria-hidden="true" /> {high}</span>
      <span><i className="swatch old" />stale</span>
      <span><i className="swatch corner failed" />unhealthy</span>
      <span><i className="swatch corner closed" />closed to new work</span>
      {view.of === "gpus" && <span><i className="swatch frame" />none there</span>}
    </div>
  );
}
