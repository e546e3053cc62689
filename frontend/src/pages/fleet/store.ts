/** The fleet this tab knows, outside of React's cache: tens of thousands of nodes are changed in place. */
import { useEffect, useSyncExternalStore } from "react";
import { ApiError, get } from "../../api/client";
import { divert, live, useLiveness } from "../../live/hooks";
import { take, type Fleet, type Told } from "./model";

const POLL_MS = 3_000;

export interface FleetView {
  fleet: Fleet | null;
  error: ApiError | null;
  /** When it was last known to be true, in ms since 1970; 0 when never. */
  updatedAt: number;
}

let view: FleetView = { fleet: null, error: null, updatedAt: 0 };
const listeners = new Set<() => void>();

function become(next: Partial<FleetView>): void {
  view = { ...view, ...next };
  for (const listener of listeners) listener();
}

function watch(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

divert("fleet", {
  whole: (told) => become({ fleet: take(null, told as Told), error: null, updatedAt: Date.now() }),
  step: (told) => become({ fleet: take(view.fleet, told as Told) ?? view.fleet, error: null, updatedAt: Date.now() }),
});

async function poll(signal: AbortSignal): Promise<void> {
  try {
    const told = await get<Told>("/fleet", signal);
    if (!signal.aborted) become({ fleet: take(null, told), error: null, updatedAt: Date.now() });
  } catch (cause) {
    if (!signal.aborted) become({ error: cause instanceof ApiError ? cause : new ApiError(0, "Hydra cannot be reached", "") });
  }
}

/** Follow the fleet; over REST while there is no socket. */
export function useFleet(): FleetView {
  const away = useLiveness().state === "reconnecting";
  useEffect(() => live.subscribe("fleet"), []);
  useEffect(() => {
    if (!away) return;
    const ends = new AbortController();
    void poll(ends.signal);
    const timer = setInterval(() => void poll(ends.signal), POLL_MS);
    return () => {
      ends.abort();
      clearInterval(timer);
    };
  }, [away]);
  const known = useSyncExternalStore(watch, () => view);
  const refused = useSyncExternalStore(live.watch, () => live.error("fleet"));
  return refused ? { ...known, error: new ApiError(refused.status, "Not available", refused.detail) } : known;
}
