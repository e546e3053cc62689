/** Another file for a service that runs: what it would change, and how carefully. */
import { Link } from "wouter";
import type { FieldError, Job } from "../../api/types";
import { Check } from "../../ui/icons";
import { Card } from "../../ui/parts";
import { Carefully } from "./Carefully";
import type { Rules } from "./rollout";

/** What runs, and by which rules what is written here takes its place. */
export function Underway({ job, ...of }: { job: Job; rules: Rules; errors: FieldError[]; set: (rules: Rules) => void }) {
  return (
    <>
      <p className="muted small">What <Link href={`/jobs/${job.id}`}>#{job.id} {job.name}</Link> runs as revision {job.revision ?? 1}. Its tasks start again with what is written here, one of a group after the other unless you say otherwise, and go back by themselves when that does not serve. Groups keep their names and numbers of tasks.</p>
      <Carefully {...of} />
    </>
  );
}

/** `tried`: what the server would do, undefined as long as it was not asked. */
export function WhatChanges({ tried, checking }: { tried: Job | undefined; checking: boolean }) {
  return (
    <Card title="What it changes">
      <p className="small" role="status" data-testid="checked">{checking ? "Checking" : tried ? <Verdict unchanged={tried.unchanged ?? false} /> : "Not checked yet"}</p>
      {tried?.changes?.length ? <ul className="small changes" data-testid="changes">{tried.changes.map((each) => <li key={each} className="wrap-any">{each}</li>)}</ul> : null}
      <p className="muted small">Ctrl+Enter rolls it out. Nothing restarts before.</p>
    </Card>
  );
}

function Verdict({ unchanged }: { unchanged: boolean }) {
  return unchanged ? <>Nothing: it runs this already</> : <span className="state tone-succeeded"><Check /><span>The server would take it</span></span>;
}
