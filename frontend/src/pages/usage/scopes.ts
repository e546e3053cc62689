/** Whose history an account may look at, the most useful first. */
import { useQuery } from "@tanstack/react-query";
import { get, type ApiError } from "../../api/client";
import type { Me, Page, Queue, SubCluster } from "../../api/types";

export interface Scopes {
  names: string[];
  loading: boolean;
  error: ApiError | null;
}

function scopeNames(me: Pick<Me, "role" | "queues">, subClusters: string[], queues: string[]): string[] {
  if (me.role !== "tenant") return ["cluster", ...subClusters.map((name) => `sub-cluster:${name}`), ...queues.map((path) => `queue:${path}`)];
  const granted = me.queues.map((right) => right.path);
  const own = queues.filter((path) => granted.some((above) => path === above || path.startsWith(`${above}.`)));
  return own.map((path) => `queue:${path}`);
}

export function useScopes(me: Me): Scopes {
  const queues = useQuery<Page<Queue>, ApiError>({ queryKey: ["read", "/queues", "usage"], queryFn: ({ signal }) => get<Page<Queue>>("/queues", signal), staleTime: 60_000 });
  const subs = useQuery<Page<SubCluster>, ApiError>({
    queryKey: ["read", "/sub-clusters", "usage"], queryFn: ({ signal }) => get<Page<SubCluster>>("/sub-clusters", signal), staleTime: 60_000, enabled: me.role !== "tenant",
  });
  const names = scopeNames(me, (subs.data?.results ?? []).map((s) => s.name), (queues.data?.results ?? []).map((q) => q.path));
  return { names, loading: queues.isLoading || subs.isLoading, error: queues.error ?? subs.error };
}
