/** Another file for a service that runs: what it would change, and how carefully. */
import { Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link } from "wouter";
import type { FieldError, Job } from "../../api/types";
import { Check } from "../../ui/icons";
import { Card } from "../../ui/parts";
import { wrong } from "./errors";
import { isNumber, RULES, SURGE, surges, type Rules } from "./rollout";

interface OfRules { rules: Rules; errors: FieldError[]; set: (rules: Rules) => void }

/** What runs, and by which rules what is written here takes its place. */
export function Underway({ job, ...of }: OfRules & { job: Job }) {
  const { rules, set } = of;
  return (
    <>
      <p className="muted small">What <Link href={`/jobs/${job.id}`}>#{job.id} {job.name}</Link> runs as revision {job.revision ?? 1}. Its tasks start again with what is written here, one of a group after the other unless you say otherwise, and go back by themselves when that does not serve. Groups keep their names and numbers of tasks.</p>
      <Checkbox size="xs" checked={surges(rules)} onChange={(event) => set({ ...rules, max_unavailable: undefined, max_surge: undefined, ...(event.currentTarget.checked ? SURGE : {}) })} label="A new task serves before an old one goes, where there is room for one more" />
      <Carefully {...of} />
    </>
  );
}

function Carefully({ rules, errors, set }: OfRules) {
  const [open, setOpen] = useState(false);
  const refused = RULES.some(({ key }) => wrong(errors, [key]));
  return (
    <details className="carefully small" open={open || refused} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>How carefully</summary>
      <div className="fields">
        {RULES.map(({ key, label, help, usual, most }) => (
          <TextInput key={key} type="number" label={label} description={help} placeholder={String(usual)} min={0} max={most} step={key.endsWith("_s") ? "any" : 1} value={isNumber(rules[key]) ? rules[key] : ""} error={wrong(errors, [key])}
            onChange={(e) => set({ ...rules, [key]: e.currentTarget.value === "" && !e.currentTarget.validity.badInput ? undefined : e.currentTarget.valueAsNumber })} />
        ))}
      </div>
    </details>
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
