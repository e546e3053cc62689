/** What is marked on the charts, in words. */
import { EVENT_COLORS, EVENT_LETTERS } from "../../charts/options";
import { timeLabel, type SeriesEvent } from "../../charts/series";
import { Card } from "../../ui/parts";

const MOST = 50;

export function Events({ events, stepS, choose }: { events: SeriesEvent[]; stepS: number; choose: (at: number) => void }) {
  if (!events.length) return null;
  const shown = events.slice(-MOST).reverse();
  return (
    <Card title="Marked on the charts" aside={<span className="muted small">{events.length} in this range</span>} flush>
      <ul className="event-list">
        {shown.map((event) => {
          const at = Math.floor(Date.parse(event.at) / 1000);
          return (
            <li key={`${event.kind}${event.id}${event.at}`}>
              <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
                <circle cx="9" cy="9" r="8" fill={`var(--${EVENT_COLORS[event.kind] ?? "muted"})`} />
                <text x="9" y="12.5" textAnchor="middle" fontSize="10" fontWeight="650" fill="var(--surface)">{EVENT_LETTERS[event.kind] ?? "·"}</text>
              </svg>
              <button type="button" className="linkish" onClick={() => choose(at)}>{timeLabel(at, Math.min(stepS, 10))}</button>
              <span className="grow event-text">{event.text}</span>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
