/** What is to be done with jobs, wherever one is: "kill", "kill etl", "run again 42". Pure. */
import type { Job, Me } from "../../api/types";
import { choicesOf, nameOf, type Handed, type What } from "../../pages/job/can";
import { ON_JOBS, type Entry } from "./find";

/** By its first word, as far as that is typed. Which jobs can be rolled back no list of jobs says. */
const WORDS = {
  kill: ["kill", "stop", "cancel"],
  retry: ["run", "retry", "again"],
  priority: ["priority", "change"],
  queue: ["move"],
  scale: ["scale"],
  restart: ["restart"],
} satisfies Partial<Record<What, string[]>>;
const LETTERS_MIN = 3;
const SIZE = 50;

export interface Order {
  what: keyof typeof WORDS;
  /** How the names of the jobs begin, or the number of one; "" for one's own. */
  of: string;
}

/** Null where the text begins with no such word, and for those who may only look. */
export function orderIn(typed: string, me: Me): Order | null {
  const [first = "", ...rest] = typed.trim().split(/\s+/);
  if (me.role === "viewer" || first.length < LETTERS_MIN) return null;
  const what = (Object.keys(WORDS) as Order["what"][]).find((each) => WORDS[each].some((word) => word.startsWith(first.toLowerCase())));
  if (!what) return null;
  const said = nameOf(what, 0).toLowerCase().split(" ");
  return { what, of: rest.filter((word) => !said.includes(word.toLowerCase())).join(" ") };
}

/** Which jobs it may be about, in the words of the job list. */
export function queriesOf({ what, of }: Order, me: Me): string[] {
  const states = what === "retry" ? ["FAILED", "KILLED"] : ["live"];
  const kind: Record<string, string> = what === "scale" || what === "restart" ? { kind: "service" } : {};
  const others = me.role === "operator" || me.queues.some((q) => q.level === "admin");
  const whose: Record<string, string> = of && others ? {} : { owner: me.username };
  return states.map((state) => new URLSearchParams({ page_size: String(SIZE), state, ...kind, ...(of ? { name: of } : {}), ...whose }).toString());
}

/** The job's page asks for it. */
export function orderEntries({ what }: Order, jobs: Job[], me: Me): Entry[] {
  const open = jobs.filter((job) => job.state !== "KILLING" && choicesOf(job, me).includes(what)).sort((a, b) => b.id - a.id);
  const handed: Handed = { ask: what };
  return open.map((job) => ({ id: `${what}-${job.id}`, group: ON_JOBS, name: nameOf(what, job.id), note: `${job.name} · ${job.state.toLowerCase()} · ${job.queue}`, to: `/jobs/${job.id}`, state: handed, anew: `job:${job.id}` }));
}
