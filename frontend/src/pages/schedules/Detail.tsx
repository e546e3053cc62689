/** One schedule: when it starts its job, what became of its times, its job file, and what can be done with it. */
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError, post, remove } from "../../api/client";
import type { Me } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import { hydractl } from "../../format/shell";
import { duration, moment } from "../../format/units";
import { useFollowed } from "../../live/hooks";
import { Card, Command, Confirm, Failed, Loading, Notice, Stale, useNow } from "../../ui/parts";
import { SaveAs } from "../../ui/save";
import { mayAct } from "../job/rights";
import { Next } from "./List";
import { Runs } from "./Runs";
import type { ScheduleDetail, ScheduleRun } from "./types";
import { Upcoming } from "./Upcoming";
import { OVERLAPS } from "./words";

export function Detail({ id, me }: { id: string; me: Me }) {
  const view = useFollowed<ScheduleDetail>(`/schedules/${id}`);
  const now = useNow();
  const schedule = view.data;
  useEffect(() => {
    if (schedule) document.title = `${schedule.name} · Hydra`;
  }, [schedule?.name]);
  if (!schedule) return view.error ? <><h1>Schedule {id}</h1><Failed error={missing(view.error, id)} retry={() => void view.refetch()} /></> : <><h1>Schedule {id}</h1><Card><Loading lines={6} label="Loading the schedule" /></Card></>;
  return (
    <>
      <header className="job-head">
        <nav className="small muted" aria-label="Breadcrumb"><Link href="/schedules">Schedules</Link> / {schedule.id}</nav>
        <div className="row wrap">
          <h1 className="job-title">{schedule.name}</h1>
          {schedule.suspended && <span className="tag">suspended</span>}
          <span className="grow" />
          <Actions schedule={schedule} me={me} />
        </div>
        <Facts schedule={schedule} now={now} />
      </header>
      {view.error && <Stale since={view.dataUpdatedAt} now={now} why={view.error.detail || undefined} />}
      <div className="editor">
        <Runs schedule={schedule} signature={String(view.dataUpdatedAt)} />
        <div className="editor-side"><Upcoming words={schedule.words} zone={schedule.zone} times={schedule.upcoming} now={now} suspended={schedule.suspended} /></div>
      </div>
      <Card title="Job file" aside={<><SaveAs name="job.yaml" text={schedule.job} /><Command text={hydractl("schedule", "show", schedule.id, "--file")} /></>}>
        <pre className="spec mono" tabIndex={0} aria-label="Job file">{schedule.job}</pre>
      </Card>
    </>
  );
}

function missing(error: ApiError, id: string): ApiError {
  return error.status === 404 ? new ApiError(404, "There is no such schedule", `Schedule ${id} does not exist, or you may not see it.`) : error;
}

function Facts({ schedule, now }: { schedule: ScheduleDetail; now: number }) {
  const values = Object.entries(schedule.set);
  return (
    <dl className="facts small">
      <div><dt>When</dt><dd>{schedule.words}</dd></div>
      <div><dt>Cron</dt><dd className="mono">{schedule.cron}</dd></div>
      <div><dt>Zone</dt><dd>{schedule.zone}</dd></div>
      <div><dt>Next</dt><dd data-testid="next"><Next schedule={schedule} now={now} /></dd></div>
      <div><dt>Owner</dt><dd>{schedule.owner}</dd></div>
      <div><dt>Queue</dt><dd><Link href={`/jobs?queue=${encodeURIComponent(schedule.queue)}`}>{schedule.queue}</Link></dd></div>
      <div><dt>While its last job lives</dt><dd>{OVERLAPS[schedule.overlap]}</dd></div>
      <div><dt>Starts within</dt><dd>{duration(schedule.start_within_s * 1000)}</dd></div>
      {schedule.except_days.length > 0 && <div><dt>Not on</dt><dd>{schedule.except_days.join(", ")}</dd></div>}
      {schedule.until && <div><dt>Until</dt><dd>{moment(schedule.until)}</dd></div>}
      {values.length > 0 && <div><dt>Values</dt><dd className="wrap-any">{values.map(([name, value]) => `${name}=${String(value)}`).join(", ")}</dd></div>}
    </dl>
  );
}

type What = "run" | "suspend" | "resume" | "delete";
const ASKED: Record<What, { button: string; title: string; action: string; text: string }> = {
  run: { button: "Run now", title: "Run it now?", action: "Run now", text: "Its job starts at once, in the name of its owner. Its times stay as they are." },
  suspend: { button: "Suspend", title: "Suspend it?", action: "Suspend", text: "It starts nothing by itself until it is resumed. Jobs that run go on." },
  resume: { button: "Resume", title: "Resume it?", action: "Resume", text: "It goes on with the times to come. Those that passed meanwhile start nothing." },
  delete: { button: "Delete", title: "Delete it?", action: "Delete", text: "It starts nothing any more, and what became of its times is forgotten. Jobs that run go on." },
};

function Actions({ schedule, me }: { schedule: ScheduleDetail; me: Me }) {
  const [asking, setAsking] = useState<What | null>(null);
  const [, go] = useLocation();
  const can = mayAct(schedule, me);
  const choices: What[] = can ? ["run", schedule.suspended ? "resume" : "suspend", "delete"] : [];
  usePaletteCommands(choices.map((what) => ({ name: `${ASKED[what].button}: ${schedule.name}`, words: "schedule", run: () => setAsking(what) })));
  return (
    <div className="row wrap">
      <Command text={hydractl("schedule", "show", schedule.id)} />
      {can && <Button variant="default" onClick={() => go(`/schedules/${schedule.id}/edit`)}>Edit</Button>}
      {choices.map((what) => <Button key={what} variant="default" onClick={() => setAsking(what)}>{ASKED[what].button}</Button>)}
      {asking && <Ask key={asking} schedule={schedule} what={asking} onClose={() => setAsking(null)} />}
    </div>
  );
}

function Ask({ schedule, what, onClose }: { schedule: ScheduleDetail; what: What; onClose: () => void }) {
  const [, go] = useLocation();
  const client = useQueryClient();
  const at = `/schedules/${schedule.id}`;
  const act = useMutation<ScheduleRun | ScheduleDetail | void, ApiError>({
    mutationFn: () => (what === "delete" ? remove(at) : post<ScheduleRun | ScheduleDetail>(`${at}/${what}`)),
    onSuccess: () => {
      onClose();
      if (what === "delete") go("/schedules");
      else void client.invalidateQueries({ queryKey: ["read", at] });
    },
  });
  const { title, action, text } = ASKED[what];
  return (
    <Confirm title={`${schedule.name}: ${title}`} action={action} busy={act.isPending} error={act.error} onClose={onClose} onConfirm={() => act.mutate()}>
      <p>{text}</p>
      {what === "run" && schedule.suspended && <Notice>It is suspended: this starts one job, and no other.</Notice>}
      <Command text={hydractl("schedule", what, schedule.id)} />
    </Confirm>
  );
}
