/** What can be done with one job, each with its `hydractl` form. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { post, type ApiError } from "../../api/client";
import type { FieldError, Job, Me } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import { ended } from "../../format/states";
import { Command, Confirm } from "../../ui/parts";
import { QueueChoice } from "./QueueChoice";
import { Carefully } from "../submit/Carefully";
import { RULES_OF_ROLLBACK, ruleWords, type Rules } from "../submit/rollout";
import { BackTo } from "./Revisions";
import { choicesOf, handedOf, nameOf, type What } from "./can";
import { isPriority } from "./priority";
import { mayAct } from "./rights";
import { hydractl } from "../../format/shell";

const BUTTONS: Record<What, string> = { kill: "Kill", retry: "Run again", priority: "Priority", queue: "Move", scale: "Scale", restart: "Restart", rollback: "Roll back" };

interface Doing {
  title: string;
  action: string;
  command: string;
  body: Record<string, unknown>;
  ready: boolean;
  text: ReactNode;
}

/** `errors`: what the server said of what was asked. */
function useDoing(job: Job, what: What, errors: FieldError[]): Doing {
  const [priority, setPriority] = useState(String(job.priority));
  const [queue, setQueue] = useState("");
  const [to, setTo] = useState<number | null>(null);
  const [rules, setRules] = useState<Rules>({});
  const [name, setName] = useState(job.groups.length === 1 || what === "scale" ? (job.groups[0]?.name ?? "") : "");
  const group = job.groups.find((g) => g.name === name);
  const [tasks, setTasks] = useState<number | null>(null);
  const groups = (all: boolean) => job.groups.length > 1 && <NativeSelect label="Group" value={name} onChange={(e) => { setName(e.currentTarget.value); setTasks(null); }} data={[...(all ? [{ value: "", label: "All groups" }] : []), ...job.groups.map((g) => g.name)]} />;
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
      title: `Priority of job ${job.id}`, action: "Change", command: hydractl("priority", job.id, priority || "0"), body: { priority: Number(priority) }, ready: isPriority(priority) && Number(priority) !== job.priority,
      text: <TextInput type="number" label="Priority" description="Higher goes first in its queue; -500 to 499" min={-500} max={499} value={priority} onChange={(e) => setPriority(e.currentTarget.value)} />,
    };
    case "scale": {
      const wanted = tasks ?? group?.count ?? 1;
      return {
        title: `Scale job ${job.id}`, action: "Scale", command: hydractl("scale", job.id, name, wanted), body: { group: name, count: wanted }, ready: wanted >= 1 && wanted !== group?.count,
        text: <><p>More are placed as those of a new job would be. Of fewer, the last ones get SIGTERM, and SIGKILL after their grace time.</p>{groups(false)}<TextInput type="number" label="Tasks" min={1} max={1_000_000} value={wanted} onChange={(e) => setTasks(e.currentTarget.valueAsNumber || 0)} /></>,
      };
    }
    case "restart": {
      const one = group && tasks !== null;
      return {
        title: `Restart tasks of job ${job.id}?`, action: "Restart", command: hydractl("restart", job.id, ...(group ? [name] : []), ...(one ? [tasks] : [])), body: { group: name || null, index: one ? tasks : null }, ready: !one || (tasks >= 0 && tasks < group.count),
        text: <><p>{one ? "It gets SIGTERM, and SIGKILL after its grace time, and starts again at once." : "One task of a group after the other gets SIGTERM; the next one when the one before it runs again and has passed its health check."} It counts as no failure. What pauses since it failed starts at once.</p>{groups(true)}{group && <TextInput type="number" label="Index of one task" description={`0 to ${group.count - 1}; empty: all of them`} min={0} max={group.count - 1} value={tasks ?? ""} onChange={(e) => setTasks(e.currentTarget.value === "" ? null : e.currentTarget.valueAsNumber)} />}</>,
      };
    }
    case "rollback": return {
      title: `Roll job ${job.id} back?`, action: "Roll back", command: hydractl("rollback", job.id, ...(to === null ? [] : ["--to", to]), ...ruleWords(rules)), body: { ...rules, revision: job.revision ?? 1, to }, ready: true,
      text: <><p>{job.rollout?.back ? "It goes back already. Choose the revision it leaves to have that again; else wait." : job.rollout ? `Its tasks that run revision ${job.rollout.revision} already start again, one after the other, with what they ran before.` : "Its tasks start again, one of a group after the other, with what they ran then: as a further revision."}</p><BackTo job={job} to={to} choose={setTo} /><Carefully rules={rules} set={setRules} errors={errors} of={RULES_OF_ROLLBACK} /></>,
    };
    case "queue": return {
      title: `Move job ${job.id}`, action: "Move", command: hydractl("move", job.id, "--to", queue || "QUEUE"), body: { queue }, ready: queue !== "",
      text: <><p>What runs goes on and counts in the other queue. If that queue may run no job more, the job stays in {job.queue}, and its events say so.</p><QueueChoice value={queue} onChange={setQueue} description="One you may submit to" without={[job.queue]} /></>,
    };
  }
}

function Ask({ job, what, onClose }: { job: Job; what: What; onClose: () => void }) {
  const [, go] = useLocation();
  const act = useMutation<Job, ApiError, Doing["body"]>({
    mutationFn: (body) => post<Job>(`/jobs/${job.id}/${what}`, body),
    onSuccess: (answer) => {
      if (answer.unchanged) return;
      onClose();
      if (answer.id !== job.id) go(`/jobs/${answer.id}`);
    },
  });
  const doing = useDoing(job, what, act.error?.errors ?? []);
  return (
    <Confirm title={doing.title} action={doing.action} busy={act.isPending} error={act.error} ready={doing.ready} onClose={onClose} onConfirm={() => doing.ready && act.mutate(doing.body)}>
      {doing.text}
      {act.data?.unchanged && <p role="status">Nothing is begun: it runs this already, as revision {act.data.revision ?? 1}.</p>}
      <Command text={doing.command} />
    </Confirm>
  );
}

export function Actions({ job, me }: { job: Job; me: Me }) {
  const over = ended(job.state);
  const can = mayAct(job, me);
  const choices = choicesOf(job, me);
  const stops = job.state === "KILLING";
  const [asking, setAsking] = useState<What | null>(() => (stops ? null : handedOf(history.state, choices)));
  useEffect(() => { // asked once: not again after a reload, or on the way back
    if (history.state) history.replaceState(null, "");
  }, []);
  usePaletteCommands(stops ? [] : choices.map((what) => ({ name: nameOf(what, job.id), words: job.name, run: () => setAsking(what) })));
  const button = (what: What) => <Button key={what} variant="default" className={what === "kill" ? "ends" : undefined} disabled={stops} onClick={() => setAsking(what)}>{BUTTONS[what]}</Button>;
  return (
    <div className="row wrap">
      <Command text={`hydractl job ${job.id}`} />
      {over && choices.map(button)}
      {me.role !== "viewer" && <Button variant="default" renderRoot={(props) => <Link href={`/submit?from=${job.id}`} {...props} />}>Edit and submit</Button>}
      {!over && can && job.kind === "service" && <Button variant="default" disabled={stops} renderRoot={(props) => <Link href={`/submit?update=${job.id}&view=text`} {...props} />}>Update</Button>}
      {!over && choices.map(button)}
      {asking && <Ask key={asking} job={job} what={asking} onClose={() => setAsking(null)} />}
    </div>
  );
}
