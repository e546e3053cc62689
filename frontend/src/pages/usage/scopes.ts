/** Whose history an account may look at, the most useful first. */
import { useQuery } from "@tanstack/react-query";
import { get, type ApiError } from "../../api/client";
import type { Me, Page, SubCluster } from "../../api/types";
import { SHOWN_MAX, useQueueSearch } from "../../live/queuesearch";
import type { Found } from "../../ui/combobox";

/** What is typed may begin with the kind, as a scope does; the rest is looked for in the name. */
export function scopesOf(typed: string, subClusters: string[], queues: string[]): string[] {
  const places = ["cluster", ...subClusters.map((name) => `sub-cluster:${name}`)].filter((name) => name.includes(typed.trim()));
  return [...places, ...queues.map((path) => `queue:${path}`)].slice(0, SHOWN_MAX);
}

/** Those that match what is typed; with nothing typed the first of all. null: nothing is asked for. */
export function useScopes(me: Me, typed: string | null): Found & { error: ApiError | null } {
  const tenant = me.role === "tenant";
  const queues = useQueueSearch(typed === null ? null : typed.replace(/^queue:/, ""), "whole");
  const subs = useQuery<Page<SubCluster>, ApiError>({
    queryKey: ["read", "/sub-clusters", "usage"], queryFn: ({ signal }) => get<Page<SubCluster>>("/sub-clusters", signal), staleTime: 60_000, enabled: !tenant && typed !== null,
  });
  const options = tenant ? queues.options.map((path) => `queue:${path}`) : scopesOf(typed ?? "", (subs.data?.results ?? []).map((s) => s.name), queues.options);
  const error = queues.error ?? subs.error;
  return { options, more: queues.more, busy: queues.busy || (!tenant && typed !== null && subs.isPending), error, failed: error ? error.detail || error.title : null };
}
