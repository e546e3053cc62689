/** All attempts of a job, as far as a screen can use them. Read again at most every few seconds while they move. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { API, call, type ApiError } from "../../api/client";
import type { Container, Job, Page } from "../../api/types";

const MOST_ATTEMPTS = 10_000;
const SIZE = 1_000;
const EVERY_MS = 3_000;

export interface Attempts {
  list: Container[];
  complete: boolean;
}

/** The newest value, but a change shows only after `ms` without another showing. */
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, last.current + ms - Date.now());
    const id = setTimeout(() => { last.current = Date.now(); setShown(value); }, wait);
    return () => clearTimeout(id);
  }, [value, ms]);
  return shown;
}

async function readAll(job: number, signal: AbortSignal): Promise<Attempts> {
  let next: string | null = `${API}/jobs/${job}/containers?page_size=${SIZE}`;
  const list: Container[] = [];
  while (next && list.length < MOST_ATTEMPTS) {
    const page: Page<Container> = await call<Page<Container>>(next, { signal });
    list.push(...page.results);
    next = page.next;
  }
  return { list, complete: next === null };
}

/** Another text whenever attempts may have come, moved or ended, but every few seconds at most. */
export function useMoved(job: Job): string {
  return useThrottled(`${job.state}${job.groups.map((g) => `${g.running}.${g.succeeded}.${g.failed}.${g.killed}.${g.retried}`).join()}`, EVERY_MS);
}

export function useAttempts(job: Job) {
  const moved = useMoved(job);
  return useQuery<Attempts, ApiError>({
    queryKey: ["attempts", job.id, moved], queryFn: ({ signal }) => readAll(job.id, signal), placeholderData: keepPreviousData, retry: 1,
  });
}
