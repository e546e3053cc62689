/** Reads both streams of one container, or one, from where it stopped, long-polling while it grows. */
import { useEffect, useState } from "react";
import { ApiError, get } from "../../api/client";
import type { MergedLog } from "../../api/types";
import { delayMs } from "../../live/backoff";
import { append, EMPTY, type LogState } from "./log";
import { BOTH } from "./params";

const PIECE_BYTES = 262_144;

export interface LogView {
  log: LogState;
  phase: "loading" | "following" | "complete" | "reconnecting" | "failed";
  error: ApiError | null;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const id = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => { clearTimeout(id); resolve(); }, { once: true });
  });
}

export function useLog(container: string, stream: string): LogView {
  const [view, setView] = useState<LogView>({ log: EMPTY, phase: "loading", error: null });
  useEffect(() => {
    const stop = new AbortController();
    setView({ log: EMPTY, phase: "loading", error: null });
    void follow(container, stream, stop.signal, setView);
    return () => stop.abort();
  }, [container, stream]);
  return view;
}

/** Until complete: read at the offset; after a failure wait and go on at the same place, so nothing is lost or doubled. */
async function follow(container: string, stream: string, signal: AbortSignal, tell: (v: LogView) => void): Promise<void> {
  let log = EMPTY;
  let failures = 0;
  let wait = false;
  while (!signal.aborted) {
    try {
      const at: string = log.cursor;
      const query = new URLSearchParams({ limit: String(PIECE_BYTES), ...(stream !== BOTH && { stream }), ...(at && { cursor: at }), ...(at && wait && { follow: "1" }) });
      const began = Date.now();
      const page: MergedLog = await get<MergedLog>(`/containers/${container}/logs/merged?${query}`, signal);
      if (signal.aborted) return;
      const moved: boolean = page.pieces.length > 0 || page.next !== at;
      log = append(log, page, at);
      failures = 0;
      const done = page.complete;
      tell({ log, phase: done ? "complete" : "following", error: null });
      if (done) return;
      // An answer without news should have taken its time; if it did not, do not spin.
      if (!moved && wait && Date.now() - began < 500) await pause(1_000, signal);
      wait = !moved;
    } catch (cause) {
      if (signal.aborted) return;
      const error = cause instanceof ApiError ? cause : new ApiError(0, "The log could not be read", String(cause));
      const hopeless = error.status >= 400 && error.status < 500 && error.status !== 429;
      tell({ log, phase: hopeless ? "failed" : "reconnecting", error });
      if (hopeless) return;
      await pause(delayMs(failures++, Math.random()), signal);
    }
  }
}
