/** A job's story, from submit to finish: what its rows and its events say, in the order in which it happened. Pure. */
import type { Job, JobEvent, JobPlace } from "../../api/types";
import { word } from "../../format/states";
import { count, duration } from "../../format/units";

export interface Step {
  at: number;
  /** What kind of thing it was, for its mark. */
  kind: "mark" | "decision" | "trouble" | "change";
  title: string;
  text: string;
}

const TITLES: Record<string, [string, Step["kind"]]> = {
  routed: ["Routed", "decision"],
  warned: ["Warned", "trouble"],
  rehomed: ["New home", "change"],
  moved: ["Moved", "change"],
  not_moved: ["Not moved", "change"],
  kill: ["Kill asked for", "change"],
  retry: ["Tried again", "trouble"],
  preemption: ["Preempted", "trouble"],
  drain: ["Drained", "trouble"],
  speculate: ["Second attempt", "decision"],
  avoid: ["Avoids a node", "decision"],
};

function title(kind: string): [string, Step["kind"]] {
  return TITLES[kind] ?? [kind.replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase()), "decision"];
}

/** What happened to a job: its title, its mark, and what else is said of it. */
function told(e: JobEvent): [string, Step["kind"], string] {
  const asked = e.kind === "restarting" && /^(.*), (as .+ asked|as was asked)$/.exec(e.message);
  return asked ? [`Restarted, ${asked[2]}`, "change", asked[1] ?? ""] : [...title(e.kind), e.message];
}

export function story(job: Job, events: JobEvent[], places: JobPlace[] = []): Step[] {
  const from = Date.parse(job.submitted_at);
  const steps: Step[] = [{ at: from, kind: "mark", title: "Submitted", text: `by ${job.owner} to ${job.queue}${job.retry_of !== null ? `, repeating #${job.retry_of}` : ""}` }];
  const mark = (iso: string | null, name: string, after: number, what: string) => {
    if (iso) steps.push({ at: Date.parse(iso), kind: "mark", title: name, text: `${duration(Date.parse(iso) - after)} ${what}` });
  };
  mark(job.admitted_at, "Admitted", from, "after it was submitted");
  const admitted = job.admitted_at ? Date.parse(job.admitted_at) : from;
  mark(job.started_at, "First container", admitted, "after it was admitted");
  for (const g of job.groups) {
    if (job.groups.length > 1 && g.started_at) steps.push({ at: Date.parse(g.started_at), kind: "mark", title: `${g.name} began`, text: `${count(g.count)} ${g.count === 1 ? "task" : "tasks"}` });
    if (job.groups.length > 1 && g.finished_at) steps.push({ at: Date.parse(g.finished_at), kind: "mark", title: `${g.name} ${word(g.state).toLowerCase()}`, text: g.started_at ? `ran ${duration(Date.parse(g.finished_at) - Date.parse(g.started_at))}` : "" });
  }
  if (places.some((p) => p.sub_cluster !== job.home)) {
    for (const p of places) steps.push({ at: Date.parse(p.first_at), kind: "decision", title: `Granted in ${p.sub_cluster}`, text: p.sub_cluster === job.home ? "the first container at its home" : `the first container there; its home is ${job.home}` });
  }
  for (const e of events) {
    const [name, kind, text] = told(e);
    steps.push({ at: Date.parse(e.at), kind, title: name, text });
  }
  mark(job.finished_at, word(job.state), from, "after it was submitted");
  return steps.map((step, i) => ({ step, i })).sort((a, b) => a.step.at - b.step.at || a.i - b.i).map(({ step }) => step);
}

/** The beginning and the end of a long story, and how many steps lie between. */
export function shorten(steps: Step[], most: number): { head: Step[]; hidden: number; tail: Step[] } {
  if (steps.length <= most) return { head: steps, hidden: 0, tail: [] };
  const half = Math.floor(most / 2);
  return { head: steps.slice(0, half), hidden: steps.length - 2 * half, tail: steps.slice(-half) };
}
