/** In which sub-clusters the job was given containers; read again at most every few seconds while they move. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get, type ApiError } from "../../api/client";
import type { Job, JobPlaces } from "../../api/types";
import { useMoved } from "./useAttempts";

export function usePlaces(job: Job) {
  const moved = useMoved(job);
  return useQuery<JobPlaces, ApiError>({
    queryKey: ["places", job.id, moved], queryFn: ({ signal }) => get<JobPlaces>(`/jobs/${job.id}/places`, signal), placeholderData: keepPreviousData, retry: 1,
  });
}
