/** One question while it is answered, and lists of them: looked at every second as long as something goes on and the page is seen. */
import { useMutation, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { API, call, get, post, type ApiError } from "../../../api/client";
import type { Page } from "../../../api/types";
import { over, requestOf, type Chosen, type ChosenTrace, type What } from "../model/asking";
import type { Simulation, SimulationDetail, SimulationTrace } from "../types";

const EVERY_MS = 1_000;
const LISTS = "simulations";
const TRACES = "simulation-traces";
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

export function useTraces() {
  return useQuery<Page<SimulationTrace>, ApiError>({ queryKey: [TRACES], queryFn: ({ signal }) => get<Page<SimulationTrace>>("/simulations/traces", signal), retry: 1 });
}

/** The number of the chosen trace, which is handed in first where it is a file, and its nodes as well. */
async function handedIn({ kept, file, kind, options, ownNodes, nodes }: ChosenTrace): Promise<number | null> {
  const headers = { "Content-Type": "application/octet-stream" };
  const given = `options=${encodeURIComponent(options.trim() || "{}")}`;
  let number = kept;
  if (number === null && file) {
    number = (await call<SimulationTrace>(`${API}/simulations/traces?kind=${kind}&name=${encodeURIComponent(file.name)}&${given}`, { method: "POST", body: file, headers })).id;
  }
  if (number !== null && ownNodes && nodes) await call(`${API}/simulations/traces/${number}/nodes?${kept === null ? given : ""}`, { method: "PUT", body: nodes, headers });
  return number;
}

/** `onHandedIn`: a file is kept now under this number, and need not be sent again. */
export function useAsk(what: What, onAsked: (id: number) => void, onHandedIn: (trace: number) => void) {
  const client = useQueryClient();
  return useMutation<SimulationDetail, ApiError, Chosen>({
    mutationFn: async (chosen) => {
      const asked = requestOf(chosen, what);
      if (asked instanceof Error) throw asked;
      if (chosen.window !== "trace") return post<SimulationDetail>("/simulations", asked);
      const trace = await handedIn(chosen.trace);
      await client.invalidateQueries({ queryKey: [TRACES] });
      if (trace !== null) onHandedIn(trace);
      return post<SimulationDetail>("/simulations", { ...asked, trace });
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
