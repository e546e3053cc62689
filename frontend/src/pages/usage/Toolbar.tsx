/** Whose history, which range; a live range follows the present. */
import { useEffect, useId, useState } from "react";
import { timeLabel, type Span } from "../../charts/series";
import { duration } from "../../format/units";
import { RANGES, SHOWN_RANGES, panned, zoomed, type View } from "./view";

const OFFERED = 300;

export function Toolbar({ view, span, scopes, show, live }: {
  view: View; span: Span; scopes: string[]; show: (next: Partial<View>) => void; live: boolean;
}) {
  const now = Date.now() / 1000;
  return (
    <div className="usage-bar" role="group" aria-label="What is shown">
      <ScopeField scope={view.scope} scopes={scopes} choose={(scope) => show({ scope })} />
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

function ScopeField({ scope, scopes, choose }: { scope: string; scopes: string[]; choose: (scope: string) => void }) {
  const id = useId();
  const [text, setText] = useState(scope);
  useEffect(() => setText(scope), [scope]);
  const fits = scopes.filter((name) => text === scope || name.includes(text)).slice(0, OFFERED);
  const take = (value: string) => {
    setText(value);
    if (scopes.includes(value)) choose(value);
  };
  return (
    <label className="scope-field">
      <span className="sr">Cluster, sub-cluster or queue</span>
      <input list={id} value={text} spellCheck={false} onChange={(e) => take(e.target.value)} onFocus={(e) => e.target.select()} onBlur={() => setText(scope)} />
      <datalist id={id}>{fits.map((name) => <option key={name} value={name} />)}</datalist>
    </label>
  );
}
