/** How sub-clusters and queues stood at the chosen moment. */
import { useQuery } from "@tanstack/react-query";
import { get, type ApiError } from "../../api/client";
import { timeLabel, type Instant, type ScopeUsage } from "../../charts/series";
import { Meter } from "../../ui/bars";
import { Close } from "../../ui/icons";
import { amounts } from "../../format/resources";
import { count, short } from "../../format/units";
import { Empty, Failed, Loading } from "../../ui/parts";

export function InstantPanel({ at, scope, close, pick }: { at: number; scope: string; close: () => void; pick: (scope: string) => void }) {
  const read = useQuery<Instant, ApiError>({
    queryKey: ["instant", at],
    queryFn: ({ signal }) => get<Instant>(`/series/instant?at=${at}`, signal),
    placeholderData: (previous) => previous,
    staleTime: 60_000,
    retry: 1,
  });
  const data = read.data;
  return (
    <aside className="card instant" aria-label="At the chosen moment">
      <header>
        <h2 className="grow">{timeLabel(at, 1)}</h2>
        <button type="button" className="icon-button" title="Close" aria-label="Close the moment" onClick={close}><Close /></button>
      </header>
      {read.error && !data && <div className="body"><Failed error={read.error} /></div>}
      {!data && !read.error && <Loading label="Loading the moment" />}
      {data && data.sub_clusters.length + data.queues.length === 0 && (
        <Empty title="Nothing is known of this moment">History had not begun, or nothing was written then.</Empty>
      )}
      {data && data.sub_clusters.length > 0 && <Part title="Sub-clusters" kind="sub-cluster" rows={data.sub_clusters} scope={scope} pick={pick} />}
      {data && data.queues.length > 0 && <Part title="Queues" kind="queue" rows={data.queues} scope={scope} pick={pick} />}
      {data && <p className="muted small instant-foot">
        Mean of {data.step_s} s{data.queues_left_out > 0 ? `; ${count(data.queues_left_out)} smaller queues are not shown` : ""}.
      </p>}
    </aside>
  );
}

function Part({ title, kind, rows, scope, pick }: { title: string; kind: string; rows: ScopeUsage[]; scope: string; pick: (scope: string) => void }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {rows.map((row) => (
          <li key={row.name} data-here={scope === `${kind}:${row.name}` || undefined}>
            <div className="row">
              <button type="button" className="linkish clip grow" title={row.name} onClick={() => pick(`${kind}:${row.name}`)}>{row.name}</button>
              <span className="num">{row.dominant_share === null ? "unknown" : `${short(100 * row.dominant_share)} %`}</span>
            </div>
            {row.allocated && row.capacity && (
              <Meter label={row.name} allocated={row.dominant_share ?? 0} capacity={1} describe={(n) => `${short(100 * n)} %`} />
            )}
            <p className="muted small">{words(row)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function words(row: ScopeUsage): string {
  if (!row.allocated) return "its leader was silent";
  const parts = [amounts(row.allocated)];
  if (row.pending_containers) parts.push(`${count(row.pending_containers)} waiting`);
  if (row.decisions) parts.push(`${count(row.decisions)} placed`);
  if (row.preemptions) parts.push(`${count(row.preemptions)} preempted`);
  if (row.nodes.lost) parts.push(`${count(row.nodes.lost)} nodes lost`);
  return parts.join(" · ");
}
