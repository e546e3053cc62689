/** A terminal in a running task: a command of one's choice beside the task's own, as with `hydractl exec -it`. */
import "./terminal.css";
import { Button, TextInput } from "@mantine/core";
import { useEffect, useId, useRef, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { ApiError } from "../../../api/client";
import type { Container, Job, Me, Page } from "../../../api/types";
import { hydractl } from "../../../format/shell";
import { useFollowed, useRead } from "../../../live/hooks";
import { Card, Command, Failed, Loading, Notice } from "../../../ui/parts";
import { attemptsPath, taskNamed, useParams } from "../params";
import { mayAct } from "../rights";
import { Exec, type Phase } from "./exec";
import { useScreen } from "./useScreen";
import { words } from "./words";

const SHELL = "sh";

export default function TerminalPage({ id, me }: { id: string; me: Me }) {
  const { get } = useParams();
  const task = get("task") ?? "";
  const known = /^\d{1,18}$/.test(id) && taskNamed(task) !== null;
  const job = useRead<Job>(`/jobs/${id}`, "", known);
  const attempts = useFollowed<Page<Container>>(attemptsPath(id, task), "", known);
  const container = attempts.data?.results.find((c) => c.state === "RUNNING");
  useEffect(() => {
    document.title = `Terminal in ${task} · Hydra`;
  }, [task]);
  if (!known) return <><h1>Terminal</h1><Failed error={new ApiError(404, "There is no such task", "An address of a terminal names a job and a task of it.")} /></>;
  const error = job.error ?? attempts.error;
  return (
    <>
      <header className="job-head">
        <nav className="small muted" aria-label="Breadcrumb"><Link href="/jobs">Jobs</Link> / <Link href={`/jobs/${id}?${new URLSearchParams({ tab: "tasks", task })}`}>#{id}</Link> / {task}</nav>
        <h1 className="job-title">Terminal in {task}</h1>
      </header>
      {error && !job.data ? <Failed error={error} />
        : !job.data || !attempts.data ? <Card><Loading label="Loading the task" /></Card>
        : !mayAct(job.data, me) ? <Notice>You may see this job, but not run commands in its containers: that is for its owner, admins of its queue and operators.</Notice>
        : <Session target={`${id}/${task}`} container={container} />}
    </>
  );
}

/** What the buttons and the words above the screen say in a phase. */
function told(phase: Phase | null, container: Container | undefined): string {
  switch (phase?.state) {
    case "asking": return "Asking for it.";
    case "starting": return `Waiting for node ${phase.node}.`;
    case "runs": return `Runs on ${phase.node}.`;
    case "over": return phase.why;
    default: return container ? `${container.id} runs on ${container.node}.` : "The task does not run now.";
  }
}

function Session({ target, container }: { target: string; container: Container | undefined }) {
  const [line, setLine] = useState(SHELL);
  const [readsAloud, setReadsAloud] = useState(false);
  const [phase, setPhase] = useState<Phase | null>(null);
  const exec = useRef<Exec | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const keys = useId();
  const busy = phase !== null && phase.state !== "over";
  const screen = useScreen(box, {
    readsAloud, live: busy, describedBy: keys,
    onInput: (bytes) => exec.current?.input(bytes),
    onSize: (rows, columns) => exec.current?.resize(rows, columns),
  });
  useEffect(() => () => exec.current?.leave(), []);
  const open = (event: FormEvent) => {
    event.preventDefault();
    const terminal = screen.current;
    if (!terminal || !container || busy || !line.trim()) return;
    terminal.reset();
    terminal.focus();
    exec.current = new Exec({ wrote: (bytes, taken) => terminal.write(bytes, taken), phase: setPhase });
    void exec.current.begin(container.id, words(line.trim()), terminal.rows, terminal.cols);
  };
  const end = () => {
    exec.current?.leave();
    setPhase({ state: "over", well: true, why: "You have ended it." });
  };
  const bad = phase?.state === "over" && !phase.well;
  return (
    <Card flush label={`Terminal in ${target}`} title="Command" aside={<Command text={hydractl("exec", "-it", target, "--", ...words(line.trim() || SHELL))} />}>
      <form className="terminal-bar row wrap" onSubmit={open}>
        <TextInput aria-label="Command" className="mono" value={line} disabled={busy} spellCheck={false} autoCapitalize="off" maxLength={4_000} onChange={(e) => setLine(e.currentTarget.value)} />
        {busy ? <Button variant="default" onClick={end}>End it</Button>
          : <Button type="submit" autoFocus disabled={!container || !line.trim()}>{phase ? "Open again" : "Open"}</Button>}
        <label className="row small"><input type="checkbox" checked={readsAloud} onChange={(e) => setReadsAloud(e.currentTarget.checked)} />For screen readers</label>
        <span className={`grow small ${bad ? "terminal-bad" : "muted"}`} role="status" data-phase={phase?.state ?? "none"}>{told(phase, container)}</span>
      </form>
      <div className="terminal-box"><div ref={box} /></div>
      <p id={keys} className="terminal-foot muted small">Every key goes to the command. Escape, then Tab: leave the terminal. Leaving this page ends the command.</p>
    </Card>
  );
}
