/** What an account may do with a job; the server decides again. */
import type { Job, Me } from "../../api/types";

export function mayAct(job: Pick<Job, "owner" | "queue">, me: Me): boolean {
  if (me.role !== "tenant") return me.role === "operator"; // a viewer may hold grants of an earlier role
  return job.owner === me.username || me.queues.some((q) => q.level === "admin" && (job.queue === q.path || job.queue.startsWith(`${q.path}.`)));
}
