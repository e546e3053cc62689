/** What the actions of these pages are called in hydractl. */
import { hydractl } from "../../../format/shell";
import type { OverrideRequest, Rollout, Stage } from "../types";

const FILE = ["-f", "policy.yaml"];
const why = (message: string): string[] => ["-m", message.trim() || "…"];

export interface Push {
  message: string;
  stages: Stage[];
  guards: Record<string, number>;
  onBreach: Rollout["on_breach"];
  force: boolean;
}

export function pushCommand({ message, stages, guards, onBreach, force }: Push): string {
  const words = ["policy", "push", ...FILE, ...why(message)];
  const named = stages.filter((stage) => !stage.everywhere);
  for (const stage of named) words.push("--staged", stage.sub_clusters.join(",") || "…");
  const soaks = named.map((stage) => stage.soak_s);
  for (const soak of new Set(soaks).size === 1 ? soaks.slice(0, 1) : soaks) words.push("--soak", String(soak));
  for (const stage of stages) if (stage.everywhere) words.push("--watch", String(stage.soak_s));
  if (stages.length) {
    for (const [name, bound] of Object.entries(guards)) words.push("--guard", `${name}=${bound}`);
    if (onBreach !== "rollback") words.push("--on-breach", onBreach);
  } else if (force) words.push("--force");
  return hydractl(...words);
}

export const planCommand = hydractl("policy", "plan", ...FILE);
export const rollbackCommand = (version: number, message: string): string => hydractl("policy", "rollback", version, ...why(message));
export const steerCommand = (what: string, rollout: number, message: string): string =>
  hydractl("policy", "rollout", what, rollout, ...(message.trim() ? why(message) : []));
export const decideCommand = (what: "approve" | "reject", proposal: number, message: string): string => hydractl("policy", what, proposal, ...why(message));

export function overrideCommand(made: OverrideRequest): string {
  const change = "percent" in made.change ? ["--by", `${made.change.percent > 0 ? "+" : ""}${made.change.percent}%`] : ["--to", made.change.to === null ? "none" : String(made.change.to)];
  const words = ["policy", "overrides", "add", made.queue || "…", made.field, ...change];
  if (made.partition) words.push("--partition", made.partition);
  if (made.starts_at) words.push("--start", made.starts_at);
  return hydractl(...words, "--until", made.ends_at || "…", ...why(made.message));
}
