/** What a job file names of its owner's account. Pure. */
import { textAt } from "./document";

/** Receivers that are told of the job, each once. */
export function notified(job: Record<string, unknown>): string[] {
  const listed = Array.isArray(job.notify) ? (job.notify as unknown[]) : [];
  return [...new Set(listed.map((each) => textAt(each, ["receiver"])).filter(Boolean))];
}

/** Whether tasks find the secret as a file. */
export const isFile = (secret: unknown): boolean => typeof secret === "object" && secret !== null && "path" in secret;

/** The same secret as a file or as a variable; what stood there for the one is a start for the other. */
export function secretAs(secret: unknown, file: boolean): Record<string, string> {
  const there = textAt(secret, ["path"]) || textAt(secret, ["env"]);
  return { name: textAt(secret, ["name"]), [file ? "path" : "env"]: there };
}
