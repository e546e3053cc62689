/** What a sub-cluster did in the last minutes beside the others; for those who may see that of all queues. */
import { useQuery } from "@tanstack/react-query";
import type { ApiError } from "../../api/client";
import { get } from "../../api/client";
import { useMe } from "../../app/session";

const EVERY_MS = 10_000;
const WINDOW_S = 300;

export interface Compared {
  name: string;
  allocations_per_s: number;
  allocation_latency_count: number;
  allocation_latency_p50_s: number | null;
  allocation_latency_p99_s: number | null;
}

/** One read for all sub-clusters on a page. */
export function useCompared(name: string): Compared | undefined {
  const sees = useMe().data?.role !== "tenant";
  const read = useQuery<{ sub_clusters: Compared[] }, ApiError>({
    queryKey: ["compared"], enabled: sees, retry: false, refetchInterval: EVERY_MS, staleTime: EVERY_MS / 2,
    queryFn: ({ signal }) => get(`/sub-clusters/compare?window_s=${WINDOW_S}`, signal),
  });
  return read.data?.sub_clusters.find((sc) => sc.name === name);
}
