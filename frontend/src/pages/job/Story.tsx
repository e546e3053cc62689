/** What happened to the job, step by step: where it was sent and why, what it waited for, what went wrong. */
import { Button } from "@mantine/core";
import { useState } from "react";
import type { Job, JobEvent, JobPlace, Page } from "../../api/types";
import { clock, duration, moment } from "../../format/units";
import { useRead } from "../../live/hooks";
import { useThrottled } from "../../live/throttled";
import { Failed } from "../../ui/parts";
import { shorten, story, type Step } from "./story";

const MOST = 8;

const EVERY_MS = 1_000;

export function Story({ job, places, signature }: { job: Job; places: JobPlace[]; signature: string }) {
  const [all, setAll] = useState(false);
  const read = useRead<Page<JobEvent>>(`/jobs/${job.id}/events?page_size=200`, useThrottled(signature, EVERY_MS));
  const steps = story(job, read.data?.results ?? [], places);
  const { head, hidden, tail } = shorten(steps, all ? Infinity : MOST);
  const from = Date.parse(job.submitted_at);
  return (
    <div className="story">
      <h3>What happened</h3>
      {read.error && <Failed error={read.error} retry={() => void read.refetch()} />}
      <ol>
        {head.map((s, i) => <StepRow key={i} step={s} from={from} />)}
        {hidden > 0 && <li className="between"><Button variant="subtle" onClick={() => setAll(true)}>{hidden} more</Button></li>}
        {tail.map((s, i) => <StepRow key={`t${i}`} step={s} from={from} />)}
      </ol>
      {read.data?.next && <p className="muted small">There are more events than these; <span className="mono">hydractl events {job.id}</span> lists all.</p>}
    </div>
  );
}

function StepRow({ step, from }: { step: Step; from: number }) {
  const iso = new Date(step.at).toISOString();
  return (
    <li data-kind={step.kind}>
      <time dateTime={iso} title={moment(iso)} className="muted small">{clock(iso)}</time>
      <span className="dot" aria-hidden="true" />
      <span className="wrap-any"><b>{step.title}</b> <span className="muted">{step.text}</span></span>
      <span className="muted small num">+{duration(step.at - from)}</span>
    </li>
  );
}
