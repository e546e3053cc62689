/** What can be done with one job, each with its `hydractl` form. */
import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { post, type ApiError } from "../../api/client";
import type { Job, Me } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import { ended } from "../../format/states";
import { Command, Confirm } from "../../ui/parts";
import { QueueChoice } from "./QueueChoice";
import { mayAct } from "./rights";
import { hydractl } from "../../format/shell";

type What = "kill" | "retry" | "priority" | "queue";
const BUTTONS: Record<What, string> = { kill: "Kill", retry: "Run again", priority: "Priority", queue: "Move" };
/** Before the job's number, where no button stands beside it. */
const NAMES: Record<What, string> = { kill: "Kill", retry: "Run again", priority: "Change the priority of", queue: "Move" };

interface Doing {
  title: string;
  action: string;
  command: string;
  body: Record<string, unknown>;
  ready: boolean;
  text: ReactNode;
}

function useDoing(job: Job, what: What): Doing {
  const [priority, setPriority] = useState(job.priority);
  const [queue, setQueue] = useState("");
  switch (what) {
    case "kill": return {
      title: `Kill job ${job.id}?`, action: "Kill the job", command: `hydractl kill ${job.id}`, body: {}, ready: true,
      text: <p>Its running tasks get SIGTERM, and SIGKILL after their grace time. What has succeeded stays.</p>,
    };
    case "retry": return {
      title: `Run job ${job.id} again?`, action: "Run again", command: `hydractl retry ${job.id}`, body: {}, ready: true,
      text: <p>It is submitted again as a new job, with the same specification and files. This one stays as it ended.</p>,
    };
    case "priority": return {
      title: `Priority of job ${job.id}`, action: "Change", command: `hydractl priority ${job.id} ${priority}`, body: { priority }, ready: priority !== job.priority,
      text: <TextInput type="number" label="Priority" description="Higher goes first in its queue; -500 to 499" min={-500} max={499} value={priority} onChange={(e) => setPriority(e.currentTarget.valueAsNumber || 0)} />,
    };
    case "queue": return {
      title: `Move job ${job.id}`, action: "Move", command: hydractl("move", job.id, "--to", queue || "QUEUE"), body: { queue }, ready: queue !== "",
      text: <><p>What runs goes on and counts in the other queue. If that queue may run no job more, the job stays in {job.queue}, and its events say so.</p><QueueChoice value={queue} onChange={setQueue} description="One you may submit to" without={[job.queue]} /></>,
    };
  }
}

function Ask({ job, what, onClose }: { job: Job; what: What; onClose: () => void }) {
  const [, go] = useLocation();
  const doing = useDoing(job, what);
  const act = useMutation<Job, ApiError>({
    mutationFn: () => post<Job>(`/jobs/${job.id}/${what}`, doing.body),
    onSuccess: (answer) => {
      onClose();
      if (answer.id !== job.id) go(`/jobs/${answer.id}`);
    },
  });
  return (
    <Confirm title={doing.title} action={doing.action} busy={act.isPending} error={act.error} onClose={onClose} onConfirm={() => doing.ready && act.mutate()}>
      {doing.text}
      <Command text={doing.command} />
    </Confirm>
  );
}

export function Actions({ job, me }: { job: Job; me: Me }) {
  const [asking, setAsking] = useState<What | null>(null);
  const over = ended(job.state);
  const can = mayAct(job, me);
  const choices: What[] = !can || job.state === "SUCCEEDED" ? [] : over ? ["retry"] : ["priority", "queue", "kill"];
  const stops = job.state === "KILLING";
  usePaletteCommands(stops ? [] : choices.map((what) => ({ name: `${NAMES[what]} job ${job.id}`, words: job.name, run: () => setAsking(what) })));
  const button = (what: What) => <Button key={what} variant="default" disabled={stops} onClick={() => setAsking(what)}>{BUTTONS[what]}</Button>;
  return (
    <div className="row wrap">
      <Command text={`hydractl job ${job.id}`} />
      {over && choices.map(button)}
      {me.role !== "viewer" && <Button variant="default" renderRoot={(props) => <Link href={`/submit?from=${job.id}`} {...props} />}>Edit and submit</Button>}
      {!over && choices.map(button)}
      {asking && <Ask key={asking} job={job} what={asking} onClose={() => setAsking(null)} />}
    </div>
  );
}
