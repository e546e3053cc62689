/** A queue's dominant share over the last hours, as a line; the whole of it stands on the page of charts. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { ApiError } from "../../api/client";
import { readSeries, seriesPath, type SeriesAnswer } from "../../charts/series";
import { clock, many } from "../../format/units";
import { linePath, policyMarks } from "./use";

const LAST_S = 6 * 3600;
const POINTS = 180;
const AGAIN_MS = 30_000;
const MARKS_TOLD = 3;

export function OverTime({ path }: { path: string }) {
  const scope = `queue:${path}`;
  const found = useQuery<SeriesAnswer, ApiError>({
    queryKey: ["queue-over-time", path], retry: 1, refetchInterval: AGAIN_MS,
    queryFn: ({ signal }) => readSeries(seriesPath(["dominant_share"], [scope], { last: LAST_S }, POINTS, Math.floor(Date.now() / 1000)), signal),
  });
  const values = found.data?.series.find((s) => s.metric === "dominant_share")?.values ?? [];
  const told = values.filter((v): v is number => v !== null);
  const most = Math.max(...told, 0);
  const marks = policyMarks(found.data?.at ?? [], found.data?.events ?? []);
  const pct = (v: number) => `${Math.round(1000 * v) / 10} %`;
  const last = told.at(-1);
  return (
    <section>
      <div className="row"><h3 className="grow">Dominant share, the last 6 hours</h3><Link className="small" href={`/usage?scope=${encodeURIComponent(scope)}`}>Charts</Link></div>
      {found.isError ? <p className="small muted">Its history cannot be read now: {found.error.message}</p>
        : last === undefined ? <p className="small muted">{found.data ? "Nothing was recorded yet." : "Loading its history."}</p>
        : <>
          <svg className="over-time" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={`Dominant share: ${pct(last)} now, at most ${pct(most)} in the last 6 hours${marks.length ? `; ${many(marks.length, "change")} of the policy marked` : ""}`}><path d={linePath(values, most)} />{marks.map(({ x, event }) => <line key={`${event.kind}${event.id}${event.at}`} x1={x} x2={x} y1={0} y2={100} />)}</svg>
          <p className="small muted">{pct(last)} now, at most {pct(most)}</p>
          {marks.length > 0 && (
            <ul className="over-time-marks small muted" aria-label="Changes of the policy on the line">
              {marks.slice(-MARKS_TOLD).reverse().map(({ event }) => <li key={`${event.kind}${event.id}${event.at}`}>{clock(event.at)} {event.text}</li>)}
            </ul>
          )}
        </>}
    </section>
  );
}
