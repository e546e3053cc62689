/** What the policy in force has for queues that the simulated one does not have; nothing until both are read. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { get, type ApiError } from "../../../api/client";
import type { What } from "../model/asking";
import { renamed, type Renamed } from "../model/renamed";
import type { Policy } from "../types";

export function useRenamed(what: What): Renamed {
  const number = "version" in what ? what.version : null;
  const active = useQuery<Policy, ApiError>({ queryKey: ["policy-compared-to"], queryFn: ({ signal }) => get<Policy>("/policy", signal), retry: 1 });
  const version = useQuery<Policy, ApiError>({ queryKey: ["policy-version", number], queryFn: ({ signal }) => get<Policy>(`/policy?version=${number}`, signal), enabled: number !== null, retry: 1, staleTime: Infinity });
  const before = active.data?.document ?? null;
  const after = "document" in what ? what.document : version.data?.document ?? null;
  return useMemo(() => (before && after ? renamed(before, after) : { gone: [], leaves: [] }), [before, after]);
}
