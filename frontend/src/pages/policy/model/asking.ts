/** A what-if question from what somebody chose; how far it is, in words. */
import { ApiError, fieldError } from "../../../api/client";
import { clock, duration, moment } from "../../../format/units";
import type { Json, Simulation, SimulationRequest } from "../types";
import { hydractl } from "../../../format/shell";

export type Window = "hour" | "day" | "week" | "span" | "trace";
export interface Chosen {
  window: Window;
  /** Of the reader's clock, as a datetime-local field holds it. */
  from: string;
  to: string;
  seeds: string;
  trace: ChosenTrace;
  /** Where jobs go of queues that a policy does not have. */
  queues: Record<string, string>;
}

/** A trace that was handed in before, or a file to hand in. */
export interface ChosenTrace {
  kept: number | null;
  file: File | null;
  kind: string;
  /** Of what reads the file, as JSON. */
  options: string;
  ownNodes: boolean;
  /** Where the trace's nodes are in a file of their own. */
  nodes: File | null;
}
export const NO_TRACE: ChosenTrace = { kept: null, file: null, kind: "history", options: "", ownNodes: false, nodes: null };
/** What a file of jobs may be, and whether its nodes are in a file of their own. */
export const KINDS: Record<string, { title: string; nodesFile: boolean }> = {
  history: { title: "Hydra's history", nodesFile: false }, swf: { title: "SWF log", nodesFile: false }, sls: { title: "YARN SLS", nodesFile: true },
  openb: { title: "Alibaba openb", nodesFile: true }, philly: { title: "Microsoft Philly", nodesFile: true },
};
/** What is to be simulated. */
export type What = { document: Json } | { version: number };

export const SEEDS_MOST = 10;

/** The request; what is wrong names its field. A trace that is handed in has no number yet. */
export function requestOf(chosen: Chosen, what: What): SimulationRequest | ApiError {
  const seeds = Number(chosen.seeds);
  const errors = chosen.window === "span" ? spanErrors(chosen) : [];
  if (!Number.isInteger(seeds) || seeds < 1 || seeds > SEEDS_MOST) errors.push(fieldError("seeds", `is not a whole number from 1 to ${SEEDS_MOST}`, "3 is enough for most questions"));
  if (chosen.window === "trace") errors.push(...traceErrors(chosen.trace));
  if (errors.length) return new ApiError(0, "The question is not complete", "", errors);
  const moved = Object.keys(chosen.queues).length ? { queues: chosen.queues } : {};
  if (chosen.window === "trace") return { ...what, trace: chosen.trace.kept, nodes: chosen.trace.ownNodes ? "trace" : "fleet", seeds, ...moved };
  const window = chosen.window === "span" ? { from: new Date(chosen.from).toISOString(), to: new Date(chosen.to).toISOString() } : { window: chosen.window };
  return { ...what, ...window, seeds, ...moved };
}

function traceErrors({ kept, file, options }: ChosenTrace) {
  const errors = kept === null && !file ? [fieldError("trace", "is missing", "choose a file, or one that was handed in before")] : [];
  if (kept === null && !isObject(options)) errors.push(fieldError("options", "is no JSON object", 'write {"queue": "root.a"}, or leave it out'));
  return errors;
}

function isObject(text: string): boolean {
  if (!text.trim()) return true;
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found);
  } catch {
    return false;
  }
}

function spanErrors({ from, to }: Chosen) {
  const errors = Object.entries({ from, to }).filter(([, text]) => Number.isNaN(Date.parse(text)))
    .map(([field, text]) => fieldError(field, text ? "is not a time" : "is missing", "choose a day and a time"));
  if (!errors.length && Date.parse(to) <= Date.parse(from)) errors.push(fieldError("to", "does not lie after from", "choose a later time"));
  return errors;
}

export function simulateCommand(chosen: Chosen, what: What): string {
  const words = ["policy", "simulate", "version" in what ? String(what.version) : "policy.yaml"];
  if (chosen.window === "span") {
    const utc = (text: string) => (Number.isNaN(Date.parse(text)) ? "…" : new Date(text).toISOString().replace(/\.\d+Z$/, "Z"));
    words.push("--from", utc(chosen.from), "--to", utc(chosen.to));
  } else if (chosen.window === "trace") words.push(...traceWords(chosen.trace));
  else if (chosen.window !== "hour") words.push("--last", chosen.window);
  for (const [old, to] of Object.entries(chosen.queues)) words.push("--queue", `${old}=${to}`);
  if (chosen.seeds !== "3") words.push("--seeds", chosen.seeds || "…");
  return hydractl(...words);
}

function traceWords({ kept, file, kind, options, ownNodes, nodes }: ChosenTrace): string[] {
  const words = ["--trace", kept === null ? (file?.name ?? "…") : `${kept}`];
  if (kept === null && kind !== "history") words.push("--workload", kind);
  const given = kept === null && options.trim() && isObject(options) ? (JSON.parse(options) as Record<string, unknown>) : {};
  for (const [name, value] of Object.entries(given)) words.push("--option", `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  if (ownNodes) words.push(...(nodes ? ["--cluster", nodes.name] : ["--own-nodes"]));
  return words;
}

export const over = (s: Pick<Simulation, "state">): boolean => s.state !== "queued" && s.state !== "running";

/** What it asks: "Version 13", "root.ads maximum 40 % -> 60 % and 2 more", "west drained". */
export function whatOf(s: Pick<Simulation, "kind" | "version" | "change" | "sub_cluster">): string {
  if (s.kind === "drain") return `${s.sub_cluster} drained`;
  return s.version === null ? s.change : `Version ${s.version}`;
}

export const windowMs = (s: Pick<Simulation, "from" | "to">): number => Date.parse(s.to) - Date.parse(s.from);

/** From when to when and for how long; the day once where it is one. Of a trace its name, its length and whose nodes. */
export function windowWords(s: Pick<Simulation, "from" | "to" | "trace_name" | "own_nodes">): string {
  if (s.trace_name) return `the trace ${s.trace_name} (${duration(windowMs(s))}) on ${s.own_nodes ? "its own nodes" : "the fleet's nodes"}`;
  const [from, to] = [moment(s.from), moment(s.to)];
  const sameDay = from.split(",")[0] === to.split(",")[0];
  return `${from} to ${sameDay ? clock(s.to) : to} (${duration(windowMs(s))})`;
}

/** What is being done, for the eye: it changes with every look. */
export function doing(s: Simulation): string {
  if (s.state === "queued") return "Waits for a free runner; two simulations run at a time";
  if (s.progress === 0) return s.kind === "drain" ? "Reads what runs and waits now" : s.trace_name ? "Reads the trace" : "Reads the history of the window";
  const window = windowMs(s);
  if (s.progress >= 0.99) return "Compares the runs";
  if (1000 * s.simulated_s >= window) return `Simulated the window of ${duration(window)}; what came last is seen to its end`;
  return `Simulated ${duration(1000 * s.simulated_s)} of ${duration(window)}`;
}

/** The same for the ear: only milestones, so that nobody is told something every second. */
export function milestone(s: Simulation): string {
  const name = `Simulation ${s.id}`;
  if (s.state === "queued") return `${name} waits for a free runner`;
  if (s.state === "failed") return `${name} failed`;
  if (s.state === "cancelled") return `${name} is cancelled`;
  if (s.state === "done") return `${name} is done`;
  const quarters = Math.floor(4 * s.progress);
  return quarters ? `${name}: ${25 * quarters} % done` : s.progress ? `${name} is being simulated` : `${name} reads the history`;
}
