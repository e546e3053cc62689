/** What can be done with the jobs that are ticked: kill, another priority, another queue. */
import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, type ApiError } from "../../api/client";
import type { Job } from "../../api/types";
import { count } from "../../format/units";
import { Command, Confirm, Notice } from "../../ui/parts";
import { isPriority } from "../job/priority";
import { QueueChoice } from "../job/QueueChoice";
import { hydractl } from "../../format/shell";

type Action = "kill" | "priority" | "queue";

interface Answer {
  accepted: number;
  results: { job: number; accepted: boolean; refused: string }[];
}

const LATER_MS = 3_000; // until most homes have carried it out
const WORDS: Record<Action, string> = { kill: "Kill", priority: "Change priority", queue: "Move" };

export function bulkCommand(action: Action, ids: number[], priority: number, queue: string): string {
  if (action === "kill") return hydractl("kill", ...ids);
  if (action === "queue") return hydractl("move", ...ids, "--to", queue || "QUEUE");
  return `for job in ${ids.join(" ")}; do hydractl priority $job ${priority}; done`;
}

export function BulkActions({ jobs, clear }: { jobs: Job[]; clear: () => void }) {
  const [action, setAction] = useState<Action | null>(null);
  const [priority, setPriority] = useState("0");
  const [queue, setQueue] = useState("");
  const ready = action === "queue" ? queue !== "" : action !== "priority" || isPriority(priority);
  const ids = jobs.map((job) => job.id);
  const client = useQueryClient();
  const act = useMutation<Answer, ApiError, Action>({
    mutationFn: (what) => post<Answer>("/jobs/actions", { action: what, jobs: ids, ...(what === "priority" && { priority: Number(priority) }), ...(what === "queue" && { queue }) }),
    onSuccess: () => {
      setAction(null);
      // A page that is not the first is read once.
      for (const ms of [0, LATER_MS]) setTimeout(() => void client.invalidateQueries({ queryKey: ["jobs-page"] }), ms);
    },
  });
  const refused = act.data?.results.filter((r) => !r.accepted) ?? [];
  const title = action && `${WORDS[action]} ${jobs.length === 1 ? `job ${ids[0]}` : `${count(jobs.length)} jobs`}?`;
  return (
    <>
      <div className="bulk row wrap" role="toolbar" aria-label="Chosen jobs">
        <b>{count(jobs.length)} chosen</b>
        {(Object.keys(WORDS) as Action[]).map((what) => (
          <Button key={what} variant="default" disabled={jobs.length === 0} onClick={() => { act.reset(); setAction(what); }}>{WORDS[what]}</Button>
        ))}
        <span className="grow" />
        <Button variant="subtle" onClick={clear}>Choose none</Button>
      </div>
      {act.data && (
        <Notice kind={refused.length ? "warn" : undefined}>
          {count(act.data.accepted)} of {count(act.data.results.length)} asked for; the list follows as their homes carry it out.
          {refused.length > 0 && <ul className="refused">{refused.slice(0, 20).map((r) => <li key={r.job}>#{r.job}: {r.refused}</li>)}</ul>}
        </Notice>
      )}
      {action && title && (
        <Confirm title={title} action={WORDS[action]} busy={act.isPending} error={act.error} onClose={() => setAction(null)}
          ready={ready} onConfirm={() => ready && act.mutate(action)}>
          {action === "kill" && <p>Their running tasks get SIGTERM, and SIGKILL after their grace time. What has succeeded stays.</p>}
          {action === "priority" && <TextInput type="number" label="Priority" description="Higher goes first in its queue; -500 to 499" min={-500} max={499} value={priority} onChange={(e) => setPriority(e.currentTarget.value)} />}
          {action === "queue" && <QueueChoice value={queue} onChange={setQueue} description="One you may submit to" />}
          <Command text={bulkCommand(action, ids, Number(priority) || 0, queue)} />
        </Confirm>
      )}
    </>
  );
}
