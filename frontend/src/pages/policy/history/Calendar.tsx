/** Weeks of days with a bar per override. */
import { clock } from "../../../format/units";
import { dayKey, endOf, type Span, type Week } from "../model/calendar";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LANE = 26;

export function Calendar({ weeks, span, chosen, choose, add }: { weeks: Week[]; span: Span; chosen: number; choose: (id: number | null) => void; add: ((day: string) => void) | null }) {
  const today = dayKey(new Date());
  return (
    <div className="policy-calendar" data-span={span}>
      <div className="policy-days" aria-hidden="true">{DAYS.map((day) => <span key={day}>{day}</span>)}</div>
      {weeks.map((week) => (
        <div key={week.days[0]!.key} className="policy-week" style={{ minHeight: (span === "week" ? 220 : 74) + LANE * Math.max(0, week.lanes - (span === "week" ? 6 : 1)) }}>
          {week.days.map((day, column) => {
            const cell = { className: "policy-day", "data-other": !day.inMonth || undefined, "aria-current": day.key === today ? ("date" as const) : undefined, style: { gridColumn: column + 1 } };
            return add ? <button type="button" key={day.key} {...cell} aria-label={`Add an override on ${day.key}`} onClick={() => add(day.key)}><span>{day.day}</span></button>
              : <div key={day.key} {...cell}><span>{day.day}</span></div>;
          })}
          {week.bars.map(({ override: o, from, to, lane, before, after }) => (
            <button type="button" key={o.id} className="policy-override" data-state={o.state} data-before={before || undefined} data-after={after || undefined} aria-pressed={o.id === chosen}
              style={{ gridColumn: `${from + 1} / ${to + 2}`, top: 28 + LANE * lane }}
              title={`${o.text}, ${clock(o.starts_at).slice(0, 5)} to ${clock(new Date(endOf(o)).toISOString()).slice(0, 5)}: ${o.message}`}
              aria-label={`${o.text}, ${o.state.replace("_", " ")}, from ${new Date(o.starts_at).toLocaleString("en-GB")} until ${new Date(endOf(o)).toLocaleString("en-GB")}`}
              onClick={() => choose(o.id === chosen ? null : o.id)}>
              {o.state === "refused" ? "! " : o.state === "cancelled" ? "✕ " : ""}{o.text}
            </button>
          ))}
        </div>
      ))}
    </div>
  );
}
