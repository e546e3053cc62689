/** All attempts of a job, as far as a screen can use them. Read again at most every few seconds while they move. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { API, call, type ApiError } from "../../api/client";
import type { Container, Job, Page } from "../../api/types";
import { useThrottled } from "../../live/throttled";

const MOST_ATTEMPTS = 10_000;
const SIZE = 1_000;
const EVERY_MS = 3_000;

export interface Attempts {
  list: Container[];
  complete: boolean;
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
