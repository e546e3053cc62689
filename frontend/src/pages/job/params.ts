/** What of a job's page stands in its address, so that a link shows the same. */
import { useLocation, useSearch } from "wouter";
import type { Container, Task } from "../../api/types";

export interface Params {
  get: (name: string) => string | null;
  /** Those named; an empty value takes one out. */
  set: (more: Record<string, string>) => void;
}

export function useParams(): Params {
  const search = useSearch();
  const [path, go] = useLocation();
  const get = (name: string) => new URLSearchParams(search).get(name);
  const set = (more: Record<string, string>) => {
    const params = new URLSearchParams(window.location.search); // what another part has just written is in it
    if ("task" in more || "attempt" in more) for (const name of ["find", "nth"]) params.delete(name); // it was of another log
    for (const [name, value] of Object.entries(more)) value ? params.set(name, value) : params.delete(name);
    go(`${path}?${params}`, { replace: true });
  };
  return { get, set };
}

export const taskName = (t: Pick<Task, "group" | "index">): string => `${t.group}/${t.index}`;

/** A task as an address names it, `group/index`; null when it is none. */
export function taskNamed(name: string | null): Pick<Task, "group" | "index"> | null {
  const found = /^([-a-z0-9]{1,63})\/(\d{1,9})$/.exec(name ?? "");
  return found ? { group: found[1]!, index: Number(found[2]) } : null;
}

/** Both streams, in the order in which they came; what is shown where none is named. */
export const BOTH = "both";
export const STREAMS = [BOTH, "stdout", "stderr"];

/** Where the attempts of a task are read, the newest first: of very many, the last page is the one to leave out. */
export function attemptsPath(job: number | string, task: string): string {
  return `/jobs/${job}/containers?${new URLSearchParams({ task, order: "newest" })}`;
}

/** The attempt that is looked at: the one an address names, else the task's current one, else the newest. It need not be listed (yet). */
export function attemptOf(list: Container[], named: string | null, current: string | null | undefined): { id: string | null; listed: Container | undefined } {
  const id = named || current || list[0]?.id || null;
  return { id, listed: list.find((c) => c.id === id) };
}

/** The address of the log of one attempt, or of one of its streams; with what is to be found in it: the `nth` of its lines that hold the text, from 0. */
export function logAddress(job: number, task: string, container: string, stream: string, find?: { needle: string; nth: number }): string {
  return `/jobs/${job}?${new URLSearchParams({ tab: "tasks", task, attempt: container, stream, ...(find && { find: find.needle, nth: String(find.nth) }) })}`;
}

/** The address of a terminal in a task. */
export function terminalAddress(job: number, task: string): string {
  return `/jobs/${job}/terminal?${new URLSearchParams({ task })}`;
}
