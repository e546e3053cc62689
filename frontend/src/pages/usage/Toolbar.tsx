/** Whose history, which range; a live range follows the present. */
import { useState } from "react";
import { timeLabel, type Span } from "../../charts/series";
import type { Me } from "../../api/types";
import { duration } from "../../format/units";
import { Combobox } from "../../ui/combobox";
import { useScopes } from "./scopes";
import { RANGES, SHOWN_RANGES, panned, zoomed, type View } from "./view";

export function Toolbar({ view, span, me, show, live }: {
  view: View; span: Span; me: Me; show: (next: Partial<View>) => void; live: boolean;
}) {
  const now = Date.now() / 1000;
  return (
    <div className="usage-bar" role="group" aria-label="What is shown">
      <ScopeField scope={view.scope} me={me} choose={(scope) => show({ scope })} />
      <div className="segments" role="group" aria-label="Range up to now">
        {SHOWN_RANGES.map((key) => (
          <button key={key} type="button" aria-pressed={live && view.last === key} onClick={() => show({ last: key, span: null })}>
            {RANGES.find((r) => r.key === key)?.name}
          </button>
        ))}
      </div>
      <div className="segments" role="group" aria-label="Move the range">
        <button type="button" aria-label="Earlier" title="Earlier" onClick={() => show({ span: panned(span, -0.5, now) })}>←</button>
        <button type="button" aria-label="Later" title="Later" disabled={live} onClick={() => show({ span: panned(span, 0.5, now) })}>→</button>
        <button type="button" aria-label="Zoom out" title="Zoom out" onClick={() => show({ span: zoomed(span, 2, now) })}>−</button>
        <button type="button" aria-label="Zoom in" title="Zoom in" onClick={() => show({ span: zoomed(span, 0.5, now) })}>+</button>
      </div>
      <span className="muted small usage-span" role="status">
        {live ? "Live, " : ""}{timeLabel(span.from, 60)} – {live ? "now" : timeLabel(span.to, 60)} ({duration((span.to - span.from) * 1000)})
      </span>
    </div>
  );
}

function ScopeField({ scope, me, choose }: { scope: string; me: Me; choose: (scope: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  return <Combobox className="scope-field" label="Cluster, sub-cluster or queue" quiet value={scope} typed={typed} onType={setTyped} found={useScopes(me, typed)} onChoose={choose} />;
}
