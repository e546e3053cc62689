/** Why a group waits, in words and numbers. */
import type { Group, Resources, WaitLimit, WaitReason } from "../api/types";
import { RESOURCES } from "./resources";
import { count } from "./units";

export function amounts(r: Partial<Resources> | undefined): string {
  if (!r) return "";
  const parts = RESOURCES.flatMap(({ axis, optional, said }) => {
    const n = r[axis];
    return n === undefined || (optional && !n) ? [] : [said(n)];
  });
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** What a limit is called in a heading; its own name where a newer server knows more. */
const TITLES: Record<string, string> = {
  admission: "Admission",
  backoff: "Pause after a failure",
  dependencies: "Groups before it",
  gang: "All at once",
  locality_wait: "Near its data",
  max_am_share: "Application masters",
  max_running_jobs: "Running jobs",
  max_running_jobs_per_user: "Running jobs of one user",
  no_node_matches: "No node matches",
  one_tenant: "Nodes serve others alone",
  no_nodes: "No nodes",
  no_room: "Room on nodes",
  queue_maximum: "Queue maximum",
  queue_share: "Queue share",
  reserved: "Held free for others",
  round_full: "Next round",
  user_maximum: "User maximum",
};

export function title(limit: string): string {
  return TITLES[limit] ?? limit.replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase());
}

/** One resource's name and amount as people read them. */
export function amount(name: string, n: number): string {
  const known = RESOURCES.find(({ axis }) => axis === name);
  if (known) return known.said(n);
  return `${count(n)} ${name !== "containers" ? name : n === 1 ? "task" : "tasks"}`;
}

export interface Comparison {
  name: string;
  asked: string;
  there: string;
  /** 0 to 1: how much of what is asked there is. */
  part: number;
}

/** Asked and available of a limit, resource by resource; none where the account is not told what is left. */
export function comparisons(limit: WaitLimit): Comparison[] {
  const available = limit.available ?? {};
  if (!Object.keys(available).length) return [];
  return Object.entries(limit.asked ?? {}).map(([name, asked]) => {
    const there = available[name] ?? 0;
    return { name, asked: amount(name, asked), there: amount(name, there), part: asked > 0 ? Math.min(1, there / asked) : 1 };
  });
}

/** The server's sentence with a full stop; an unknown code rather than nothing. */
export function sentence(text: string | undefined, code: string): string {
  return `${(text ?? `It waits (${code})`).replace(/\.$/, "")}.`;
}

/** "2 jobs with 9 tasks are ahead of it in its queue"; null when the position says nothing. */
export function place(reason: Pick<WaitReason, "code" | "position">): string | null {
  const position = reason.position;
  if (!position || reason.code === "backoff") return null;
  const { jobs_ahead: jobs, containers_ahead: tasks } = position;
  if (jobs === 0) return "Nobody is ahead of it in its queue";
  const who = `${count(jobs)} ${jobs === 1 ? "job" : "jobs"}`;
  const what = tasks === null ? "" : ` with ${count(tasks)} ${tasks === 1 ? "task" : "tasks"}`;
  return `${who}${what} ${jobs === 1 ? "is" : "are"} ahead of it in its queue`;
}

/** "3 tasks of map wait"; null when nothing of the group does. */
export function waitingLine(group: Group): string | null {
  if (!group.reason) return null;
  const n = group.reason.waiting ?? group.pending;
  return n === 1 ? `1 task of ${group.name} waits` : `${count(n)} tasks of ${group.name} wait`;
}

export interface ReasonLink {
  href: string;
  text: string;
}

/** Which field of a queue's policy sets a limit, as the document spells it. */
const FIELDS: Record<string, string> = {
  gang: "maximum",
  max_am_share: "max_am_share",
  max_running_jobs: "max_running_jobs",
  max_running_jobs_per_user: "max_running_jobs_per_user",
  queue_maximum: "maximum",
  queue_share: "guaranteed",
  quota: "maximum",
  user_maximum: "user_maximum",
};
const OF_NODES = new Set(["one_tenant", "no_room", "no_nodes", "no_node_matches", "reserved", "locality_wait"]);

/** A queue's place in the policy document: root.prod.etl is /queues/prod/children/etl. */
export function pointer(queue: string, field = ""): string {
  const names = queue.split(".").slice(1).map((name) => name.replaceAll("~", "~0").replaceAll("/", "~1"));
  const at = names.length ? `/queues/${names.join("/children/")}` : "/queues";
  return field && names.length ? `${at}/${field}` : at;
}

/** Where a limit can be looked at: its queue, the line of the policy that sets it, the nodes it speaks of. */
export function linksOf(limit: Pick<WaitLimit, "limit" | "queue">, reads: boolean): ReasonLink[] {
  const found: ReasonLink[] = [];
  if (limit.queue) {
    found.push({ href: `/queues?queue=${encodeURIComponent(limit.queue)}`, text: limit.queue });
    if (reads) found.push({ href: `/policy/edit?at=${encodeURIComponent(pointer(limit.queue, FIELDS[limit.limit]))}`, text: "its line in the policy" });
  }
  if (OF_NODES.has(limit.limit)) found.push({ href: "/fleet", text: "the nodes" });
  return found;
}
