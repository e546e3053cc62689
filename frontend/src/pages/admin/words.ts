/** What administration shows, in words. */
import type { Account, Component, JoinTokenLine, Token } from "../../api/types";
import { count, duration } from "../../format/units";

const ORDER: Component["verdict"][] = ["bad", "warn", "good"];

export const KINDS: Record<Component["kind"], string> = {
  store: "Store", rm: "Sub-cluster's RM", gpg: "Share division", web: "Web process", worker: "Worker", beat: "Beat", nodes: "Nodes",
};

/** The worst first; equals stay in the server's order. */
export function worstFirst(components: Component[]): Component[] {
  return [...components].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
}

export function summary(components: Component[]): string {
  const bad = components.filter((c) => c.verdict === "bad").length;
  const warn = components.filter((c) => c.verdict === "warn").length;
  if (bad + warn === 0) return `All ${count(components.length)} parts do their duty.`;
  const said = [bad ? `${count(bad)} of ${count(components.length)} parts ${bad === 1 ? "fails" : "fail"}` : "", warn ? `${count(warn)} ${warn === 1 ? "needs" : "need"} a look` : ""];
  return `${said.filter(Boolean).join(", ")}.`;
}

const UNITS: [RegExp, (n: number) => string][] = [
  [/_ms$/, (n) => `${n} ms`],
  [/_mib$/, (n) => `${count(n)} MiB`],
  [/_s$/, (n) => duration(n * 1000)],
];

/** Facts of a part as name and value; units from the end of the name. Empty ones are left out. */
export function facts(of: Component["facts"]): [string, string][] {
  return Object.entries(of).flatMap(([name, value]): [string, string][] => {
    if (value === null || value === undefined || value === "") return [];
    const unit = typeof value === "number" ? UNITS.find(([end]) => end.test(name)) : undefined;
    const word = name.replace(/_(ms|mib|s)$/, "").replaceAll("_", " ");
    return [[word, unit ? unit[1](value as number) : typeof value === "number" ? count(value) : String(value)]];
  });
}

/** "in 3 d", "expired", "never". */
export function until(at: string | null, now: number): string {
  if (at === null) return "never";
  const left = Date.parse(at) - now;
  return left <= 0 ? "expired" : `in ${duration(left)}`;
}

/** Whether a token ends so soon that its owner should know. */
export function endsSoon(token: Pick<Token, "expires_at">, now: number): boolean {
  return token.expires_at !== null && Date.parse(token.expires_at) - now < 7 * 86_400_000;
}

export const VALID: { value: string; label: string }[] = [
  { value: "86400", label: "A day" }, { value: "604800", label: "A week" }, { value: "2592000", label: "30 days" },
  { value: "7776000", label: "90 days" }, { value: "31536000", label: "A year" },
];

/** Seconds as hydractl takes them. */
export function span(seconds: number): string {
  return seconds % 86400 === 0 ? `${seconds / 86400}d` : seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds}s`;
}

export function joins(token: JoinTokenLine): string {
  if (token.kind === "node") return token.node ? `The node ${token.node} of ${token.sub_cluster}, once` : `Nodes of ${token.sub_cluster}`;
  return token.sub_cluster ? `The sub-cluster ${token.sub_cluster}` : "One new sub-cluster";
}

export const ROLES: { value: Account["role"]; label: string; may: string }[] = [
  { value: "tenant", label: "Tenant", may: "Submits to its queues and sees its own jobs and usage." },
  { value: "viewer", label: "Viewer", may: "Sees everything, changes nothing." },
  { value: "operator", label: "Operator", may: "May do everything, also to other accounts." },
];

/** The queues of an account in one line. */
export function queueWords({ queues, queues_left_out: more }: Pick<Account, "queues" | "queues_left_out">): string {
  const said = queues.map(({ path, level, source }) => {
    const marks = [level === "admin" ? "admin" : "", source === "policy" ? "policy" : ""].filter(Boolean);
    return marks.length ? `${path} (${marks.join(", ")})` : path;
  });
  return [...said, ...(more ? [`${count(more)} more`] : [])].join(", ");
}

/** Why the one signed in may not do this to an account; empty where they may. */
export function barred(account: Account, me: { username: string }): string {
  return account.username === me.username ? "Nobody changes their own account; ask another operator" : "";
}
