/** Every schedule one may see: when it starts something next, and what became of its last time. */
import { Button } from "@mantine/core";
import { Link, useLocation, useSearch } from "wouter";
import type { Me, Page } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import { hydractl } from "../../format/shell";
import { useFollowed } from "../../live/hooks";
import { Card, Command, Empty, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { Became } from "./Runs";
import type { Schedule } from "./types";
import { inZone, until } from "./words";
import { Typed } from "../../ui/typed";

const KEPT = ["name", "owner", "cursor"] as const;

export function List({ me }: { me: Me }) {
  const params = new URLSearchParams(useSearch());
  const [, go] = useLocation();
  const now = useNow();
  const asked = new URLSearchParams(KEPT.flatMap((k) => (params.get(k) ? [[k, params.get(k) as string]] : [])));
  const view = useFollowed<Page<Schedule>>(`/schedules${asked.size ? `?${asked}` : ""}`);
  const set = (changes: Partial<Record<(typeof KEPT)[number], string>>) => {
    const next = new URLSearchParams(asked);
    if (!("cursor" in changes)) next.delete("cursor");
    for (const [key, value] of Object.entries(changes)) value ? next.set(key, value) : next.delete(key);
    go(`/schedules${next.size ? `?${next}` : ""}`, { replace: !("cursor" in changes) });
  };
  const other = (address: string | null | undefined) => new URLSearchParams(address?.split("?")[1]).get("cursor") ?? "";
  const makes = me.role !== "viewer";
  usePaletteCommands(makes ? [{ name: "New schedule", words: "cron again and again", run: () => go("/schedules/new") }] : []);
  const page = view.data;
  const filters = (["name", "owner"] as const).flatMap((n) => (params.get(n) ? [`--${n}`, params.get(n)] : []));
  return (
    <>
      <div className="page-head row">
        <h1 className="grow">Schedules</h1>
        {makes && <Button renderRoot={(props) => <Link href="/schedules/new" {...props} />}>New schedule</Button>}
      </div>
      <div className="filters" role="search" aria-label="Filter schedules">
        <Typed maxLength={150} label="Name" value={params.get("name") ?? ""} set={(name) => set({ name: name.trim() })} />
        <Typed maxLength={150} label="Owner" value={params.get("owner") ?? ""} set={(owner) => set({ owner: owner.trim() })} />
      </div>
      {view.error && page && <Stale since={view.dataUpdatedAt} now={now} why={view.error.detail || undefined} />}
      <Card flush label="Schedules">
        {!page ? (view.error ? <div className="body"><Failed error={view.error} retry={() => void view.refetch()} /></div> : <Loading lines={6} label="Loading schedules" />)
          : page.results.length > 0 ? <Rows schedules={page.results} now={now} />
          : asked.size ? <Empty title="No schedule matches" /> : <Empty title="No schedules yet">A schedule starts a job file again and again, by a cron expression: {makes ? "make one here, or" : ""} with <span className="mono">hydractl schedule create nightly job.yaml --cron @daily</span>.</Empty>}
      </Card>
      <div className="row wrap">
        <Command text={hydractl("schedule", "list", ...filters)} />
        <span className="grow" />
        <div className="row">
          <Button variant="default" disabled={!page?.previous} onClick={() => set({ cursor: other(page?.previous) })}>Newer</Button>
          <Button variant="default" disabled={!page?.next} onClick={() => set({ cursor: other(page?.next) })}>Older</Button>
        </div>
      </div>
    </>
  );
}

function Rows({ schedules, now }: { schedules: Schedule[]; now: number }) {
  return (
    <div className="table-wrap">
      <table className="grid stacked labelled schedules">
        <thead><tr><th>Schedule</th><th>When</th><th>Next</th><th>Last</th><th>Queue</th><th>Owner</th></tr></thead>
        <tbody>
          {schedules.map((s) => (
            <tr key={s.id}>
              <td><Link href={`/schedules/${s.id}`} className="clip strong">{s.name}</Link></td>
              <td data-label="When">{s.words}<div className="muted small">{s.zone}</div></td>
              <td data-label="Next"><Next schedule={s} now={now} /></td>
              <td data-label="Last">{s.last_run ? <Became run={s.last_run} /> : <span className="muted">nothing yet</span>}</td>
              <td className="clip" data-label="Queue" title={s.queue}>{s.queue}</td>
              <td className="clip" data-label="Owner">{s.owner}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** When it starts something next, or why it does not. */
export function Next({ schedule, now }: { schedule: Schedule; now: number }) {
  if (schedule.suspended) return <span className="tag">suspended</span>;
  if (schedule.next_at === null) return <span className="muted">nothing to come</span>;
  return <span title={inZone(schedule.next_at, schedule.zone)}>{until(schedule.next_at, now)}</span>;
}
