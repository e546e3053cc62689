/** Choices and checks of the dialogs about nodes. */
import type { Node } from "../../api/types";

export type Act = "cordon" | "uncordon" | "drain" | "decommission";
export const TITLES: Record<Act, string> = { cordon: "Cordon", uncordon: "Back to work", drain: "Drain", decommission: "Decommission" };

/** What operators may do with the node as it is. */
export function actsOn(node: Pick<Node, "duty" | "state">): Act[] {
  if (node.state === "DECOMMISSIONED") return [];
  if (node.duty === "in_service") return ["cordon", "drain", "decommission"];
  if (node.duty === "cordoned") return ["uncordon", "drain", "decommission"];
  return node.duty === "draining" ? ["uncordon", "cordon", "decommission"] : ["uncordon"];
}

/** What another page hands over to the node's: to ask for this at once. */
export interface Handed { ask: Act }

export function handedOf(state: unknown, choices: Act[]): Act | null {
  const asked = (state as Partial<Handed> | null)?.ask;
  return choices.find((act) => act === asked) ?? null;
}

export const DEADLINES = [
  { value: "0s", label: "Now", seconds: 0 },
  { value: "10m", label: "In 10 minutes", seconds: 600 },
  { value: "30m", label: "In 30 minutes", seconds: 1800 },
  { value: "1h", label: "In an hour", seconds: 3600 },
  { value: "4h", label: "In 4 hours", seconds: 14_400 },
  { value: "1d", label: "In a day", seconds: 86_400 },
  { value: "never", label: "Never: wait until it ends by itself", seconds: null },
] as const;

export interface Plan {
  sub_cluster: string;
  by: "node" | "rack" | "labels";
  which: string;
  start: string;
  hours: number;
  lead_min: number;
  message: string;
}

/** What the API is asked for a plan; times as the browser's person means them. */
export function request(p: Plan): Record<string, unknown> {
  const starts = new Date(p.start);
  const ends = new Date(starts.getTime() + p.hours * 3_600_000);
  return { sub_cluster: p.sub_cluster, [p.by]: p.which.trim(), starts_at: starts.toISOString(), ends_at: ends.toISOString(), lead_s: Math.round(p.lead_min * 60), message: p.message };
}

/** What is missing in a plan, or nothing. */
export function wrong(p: Plan): string {
  if (!p.which.trim()) return "Say which nodes.";
  if (!p.start || Number.isNaN(Date.parse(p.start))) return "Say when it starts.";
  return p.hours > 0 ? "" : "Say how long it lasts.";
}
