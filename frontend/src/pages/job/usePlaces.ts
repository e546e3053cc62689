/** In which sub-clusters the job was given containers; read again at most every few seconds while they move. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get, type ApiError } from "../../api/client";
import type { Job, JobPlaces } from "../../api/types";
import { useThrottled } from "./useAttempts";

const EVERY_MS = 3_000;

export function usePlaces(job: Job) {
  const moved = useThrottled(`${job.state}${job.groups.map((g) => `${g.running}.${g.succeeded}.${g.failed}.${g.killed}.${g.retried}`).join()}`, EVERY_MS);
  return useQuery<JobPlaces, ApiError>({
    queryKey: ["places", job.id, moved], queryFn: ({ signal }) => get<JobPlaces>(`/jobs/${job.id}/places`, signal), placeholderData: keepPreviousData, retry: 1,
  });
}
