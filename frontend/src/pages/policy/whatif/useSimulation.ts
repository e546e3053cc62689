/** One question while it is answered, and lists of them: looked at every second as long as something goes on and the page is seen. */
import { useMutation, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { get, post, type ApiError } from "../../../api/client";
import type { Page } from "../../../api/types";
import { over, requestOf, type Chosen, type What } from "../model/asking";
import type { Simulation, SimulationDetail } from "../types";

const EVERY_MS = 1_000;
const LISTS = "simulations";
const keyOf = (id: number) => ["simulation", id];

export function useSimulation(id: number | null) {
  return useQuery<SimulationDetail, ApiError>({
    queryKey: keyOf(id ?? 0), queryFn: ({ signal }) => get<SimulationDetail>(`/simulations/${id}`, signal), enabled: id !== null, retry: false,
    refetchInterval: ({ state }) => (state.data && !over(state.data) ? EVERY_MS : false),
  });
}

/** `query`: what follows the address, such as "version=3". */
export function useSimulations(query: string) {
  return useQuery<Page<Simulation>, ApiError>({
    queryKey: [LISTS, query], queryFn: ({ signal }) => get<Page<Simulation>>(`/simulations?${query}`, signal), retry: 1,
    refetchInterval: ({ state }) => (state.data?.results.some((row) => !over(row)) ? EVERY_MS : false),
  });
}

function keep(client: QueryClient, found: SimulationDetail) {
  client.setQueryData(keyOf(found.id), found);
  void client.invalidateQueries({ queryKey: [LISTS] });
}

export function useAsk(what: What, onAsked: (id: number) => void) {
  const client = useQueryClient();
  return useMutation<SimulationDetail, ApiError, Chosen>({
    mutationFn: (chosen) => {
      const asked = requestOf(chosen, what);
      return asked instanceof Error ? Promise.reject(asked) : post<SimulationDetail>("/simulations", asked);
    },
    onSuccess: (found) => { keep(client, found); onAsked(found.id); },
  });
}

export function useCancel(id: number) {
  const client = useQueryClient();
  return useMutation<SimulationDetail, ApiError>({
    mutationFn: () => post<SimulationDetail>(`/simulations/${id}/cancel`),
    onSuccess: (found) => keep(client, found),
    onError: () => void client.invalidateQueries({ queryKey: keyOf(id) }),
  });
}
