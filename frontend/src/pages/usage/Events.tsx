/** What is marked on the charts, in words. */
import { Link } from "wouter";
import { EVENT_COLORS, EVENT_LETTERS } from "../../charts/badges";
import { timeLabel, type SeriesEvent } from "../../charts/series";
import { Card } from "../../ui/parts";

const MOST = 50;

/** Where a mark's version, rollout or override stands; what has no page of its own leads nowhere. */
export function placeOf({ kind, id }: Pick<SeriesEvent, "kind" | "id">): string | null {
  const places: Record<string, string> = { policy: `/policy/rollouts?version=${id}`, rollout: `/policy/rollouts/${id}`, override: `/policy/overrides?override=${id}` };
  return places[kind] ?? null;
}

/** `linked`: for those who may see the policy. `choose`: where a moment of the charts can be chosen. */
export function Events({ events, stepS, linked, choose }: { events: SeriesEvent[]; stepS: number; linked: boolean; choose?: (at: number) => void }) {
  if (!events.length) return null;
  const shown = events.slice(-MOST).reverse();
  return (
    <Card title="Marked on the charts" aside={<span className="muted small">{events.length} in this range</span>} flush>
      <ul className="event-list">
        {shown.map((event) => {
          const at = Math.floor(Date.parse(event.at) / 1000);
          const when = timeLabel(at, Math.min(stepS, 10));
          const place = linked ? placeOf(event) : null;
          return (
            <li key={`${event.kind}${event.id}${event.at}`}>
              <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
                <circle cx="9" cy="9" r="8" fill={`var(--${EVENT_COLORS[event.kind] ?? "muted"})`} />
                <text x="9" y="12.5" textAnchor="middle" fontSize="10" fontWeight="650" fill="var(--surface)">{EVENT_LETTERS[event.kind] ?? "·"}</text>
              </svg>
              {choose ? <button type="button" className="linkish" onClick={() => choose(at)}>{when}</button> : <span className="muted nowrap">{when}</span>}
              <span className="grow event-text">{place ? <Link href={place}>{event.text}</Link> : event.text}</span>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
