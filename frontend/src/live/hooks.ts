/** Topics as React sees them: socket snapshots land in the query cache; REST is polled while there is no socket. */
import { useQueries, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { ApiError, get } from "../api/client";
import { browserWire, LiveSocket, type Liveness } from "./socket";

const POLL_MS = 3_000;
const FOLLOW_MS = 5_000;
const AGAIN_MS = 1_000; // before the socket is tried anew with another session

export const live = new LiveSocket(browserWire);

/** Where a topic goes that is told in steps and kept outside the cache. */
export interface Sink {
  whole(snapshot: unknown): void;
  step(delta: unknown): void;
}

const sinks = new Map<string, Sink>();

export function divert(topic: string, sink: Sink): void {
  sinks.set(topic, sink);
}

/** Connect the socket to the cache; once per page load. */
export function wireToCache(client: QueryClient): void {
  live.onStep = (topic, delta) => sinks.get(topic)?.step(delta);
  live.onSnapshot = (topic, snapshot) => {
    const sink = sinks.get(topic);
    if (sink) return sink.whole(snapshot);
    const key = topicKey(topic);
    // An answer to an older poll must not overwrite a newer snapshot.
    void client.cancelQueries({ queryKey: key });
    client.setQueryData(key, snapshot);
  };
  live.onSignedOut = () => void stillSignedIn(client).then((still) => still && setTimeout(() => live.start(), AGAIN_MS));
  window.addEventListener("online", () => live.retryNow());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") live.retryNow();
  });
}

/** A new password ends the session that the socket knew, and not the one that this tab has by now. */
async function stillSignedIn(client: QueryClient): Promise<boolean> {
  try {
    await client.refetchQueries({ queryKey: ["me"] }, { throwOnError: true });
    return true;
  } catch (error) {
    return !(error instanceof ApiError && error.status === 401);
  }
}

export function topicKey(topic: string): string[] {
  return ["topic", topic];
}

export function useLiveness(): Liveness {
  return useSyncExternalStore(live.watch, live.liveness);
}

export interface TopicView<T> {
  data: T | undefined;
  error: ApiError | null;
  loading: boolean;
  /** When `data` was last known to be true, in ms since 1970; 0 when never. */
  updatedAt: number;
}

export function useTopic<T>(topic: string, read: (signal: AbortSignal) => Promise<T>, enabled = true): TopicView<T> {
  const liveness = useLiveness();
  const isLive = liveness.state === "live";
  const client = useQueryClient();
  useEffect(() => (enabled ? live.subscribe(topic) : undefined), [topic, enabled]);
  const refused = useSyncExternalStore(live.watch, () => live.error(topic));
  const query = useQuery<T, ApiError>({
    queryKey: topicKey(topic),
    queryFn: ({ signal }) => read(signal),
    enabled: enabled && (!isLive || client.getQueryData(topicKey(topic)) === undefined),
    refetchInterval: isLive ? false : POLL_MS,
    retry: false,
    staleTime: Infinity,
    gcTime: 60_000,
  });
  const socketError = refused ? new ApiError(refused.status, "Not available", refused.detail) : null;
  const error = socketError ?? (query.isError ? query.error : null);
  // While it is live, what is not said anew is as it was.
  const confirmed = refused ? 0 : liveness.state === "live" ? Date.now() : liveness.state === "reconnecting" ? liveness.since : 0;
  const updatedAt = query.data === undefined ? 0 : Math.max(query.dataUpdatedAt, confirmed);
  return { data: query.data, error, loading: query.data === undefined && !error, updatedAt };
}

/** How one address is read, for `useQuery` and `useQueries`. */
function reading<T>(path: string, signature: unknown, everyMs: number | false) {
  return {
    queryKey: ["read", path, signature], queryFn: ({ signal }: { signal: AbortSignal }) => get<T>(path, signal), refetchInterval: everyMs, retry: 1,
  };
}

/** What is no topic: read once, and again when `signature` changes, every `everyMs` or while there is no socket. */
export function useRead<T>(path: string, signature: unknown = "", enabled = true, everyMs: number | false = false) {
  const isLive = useLiveness().state === "live";
  return useQuery<T, ApiError>({
    ...reading<T>(path, signature, isLive ? everyMs : POLL_MS * 2),
    placeholderData: (previous, query) => (query?.queryKey[1] === path ? previous : undefined),
    enabled,
  });
}

/** What was last read there, whatever the signature was. */
export function lastRead<T>(client: QueryClient, path: string): T | undefined {
  const read = client.getQueryCache().findAll({ queryKey: ["read", path] }).filter(({ state }) => state.data !== undefined);
  return read.sort((a, b) => b.state.dataUpdatedAt - a.state.dataUpdatedAt)[0]?.state.data as T | undefined;
}

/** Several such at once, each as `made` of what was read; `made` is one and the same function every time. */
export function useReads<T, R>(wanted: { path: string; signature: unknown; everyMs: number | false }[], made: (answer: T) => R) {
  const isLive = useLiveness().state === "live";
  const client = useQueryClient();
  return useQueries({
    queries: wanted.map(({ path, signature, everyMs }) => ({
      ...reading<T>(path, signature, isLive ? everyMs : POLL_MS * 2), select: made,
      // Among several, a query is told nothing of the one before it.
      placeholderData: () => lastRead<T>(client, path),
    })),
  });
}

/** A list that others change, too: read again every few seconds, as long as somebody sees the page. */
export function useFollowed<T>(path: string, signature: unknown = "", enabled = true) {
  return useRead<T>(path, signature, enabled, FOLLOW_MS);
}
