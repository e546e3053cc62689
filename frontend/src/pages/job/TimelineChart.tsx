/** From submit to finish: the job's marks above, a lane per group below. */
import type { Job, JobPlace } from "../../api/types";
import { tone } from "../../format/states";
import { duration, many, moment } from "../../format/units";
import { place, placeLanes, ticks, timeline, type Lane, type PlaceLane, type Timeline } from "./timeline";

export function TimelineChart({ job, places, now }: { job: Job; places: JobPlace[]; now: number }) {
  const t = timeline(job, now);
  const where = placeLanes(job, places, t);
  const offsets = ticks(t.to - t.from);
  return (
    <figure className="timeline">
      <ol className="steps" aria-label="From submit to finish">
        {t.marks.map((mark, i) => {
          const before = t.marks[i - 1];
          return (
            <li key={mark.name} title={moment(new Date(mark.at).toISOString())}>
              {before && <span className="wait muted">{duration(mark.at - before.at)}</span>}
              <span className="dot" aria-hidden="true" /><span>{mark.name}</span>
            </li>
          );
        })}
        {!job.finished_at && <li><span className="wait muted">{duration(t.to - (t.marks.at(-1)?.at ?? t.from))}</span><span className="dot open" aria-hidden="true" /><span className="muted">now</span></li>}
      </ol>
      <div className="lanes">
        {t.lanes.map((lane) => <LaneRow key={lane.group.no} lane={lane} t={t} />)}
        {where.length > 0 && <div className="lane lanes-of small muted">By sub-cluster</div>}
        {where.map((lane) => <PlaceRow key={lane.place.sub_cluster} lane={lane} t={t} />)}
        <div className="lane axis" aria-hidden="true"><span /><svg height="18">
          {offsets.map((o) => <g key={o}><line x1={`${place(t, t.from + o)}%`} x2={`${place(t, t.from + o)}%`} y1="0" y2="4" stroke="var(--line-strong)" />
            <text x={`${place(t, t.from + o)}%`} y="15" fontSize="11" fill="var(--muted)" textAnchor={o === 0 ? "start" : place(t, t.from + o) > 96 ? "end" : "middle"}>{o === 0 ? "0" : duration(o).replace(".0", "")}</text></g>)}
        </svg></div>
      </div>
      <div className="legend"><span><i className="swatch waited" />waited</span><span><i className="swatch ran" />ran, in the colour of its state</span>{where.length > 0 && <span><i className="swatch held" />held containers there</span>}</div>
    </figure>
  );
}

function LaneRow({ lane, t }: { lane: Lane; t: Timeline }) {
  const { group, spans } = lane;
  const text = spans.map((s) => `${s.kind} ${duration(s.to - s.from)}${s.open ? " so far" : ""}`).join(", ");
  return (
    <div className="lane">
      <span className="clip" title={group.name}>{group.name}</span>
      <svg height="20" role="img" aria-label={`${group.name}: ${text}`}>
        <title>{`${group.name}: ${text}`}</title>
        {spans.map((s) => {
          const [x, width] = [place(t, s.from), place(t, s.to) - place(t, s.from)];
          return s.kind === "waited"
            ? <line key={s.kind} x1={`${x}%`} x2={`${x + width}%`} y1="10" y2="10" stroke="var(--st-waiting)" strokeWidth="2" strokeDasharray="2 4" />
            : <rect key={s.kind} x={`${x}%`} width={`${Math.max(width, 0.4)}%`} y="3" height="14" rx="4" fill={`var(--st-${tone(group.state)})`} />;
        })}
      </svg>
    </div>
  );
}

/** From the first container that was granted there to the end of the last. */
function PlaceRow({ lane, t }: { lane: PlaceLane; t: Timeline }) {
  const { sub_cluster: name, containers, first_at } = lane.place;
  const text = `${name}${lane.home ? ", the job's home" : ""}: first container ${duration(lane.from - t.from)} after the job was submitted, ${many(containers, "container")}, held for ${duration(lane.to - lane.from)}${lane.open ? " so far" : ""}`;
  const [x, width] = [place(t, lane.from), place(t, lane.to) - place(t, lane.from)];
  return (
    <div className="lane" title={`First container ${moment(first_at)}`}>
      <span className="clip" title={name}>{name}{lane.home && <span className="muted"> home</span>}</span>
      <svg height="20" role="img" aria-label={text}>
        <title>{text}</title>
        <rect x={`${x}%`} width={`${Math.max(width, 0.4)}%`} y="6" height="8" rx="3" fill="var(--accent)" />
        <circle cx={`${x}%`} cy="10" r="4.5" fill="var(--surface)" stroke="var(--accent)" strokeWidth="2" />
      </svg>
    </div>
  );
}
