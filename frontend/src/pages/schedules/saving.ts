/** From what is written to a schedule: asked about when the writing pauses, its files sent, then kept. */
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { ApiError, post, put } from "../../api/client";
import { localFiles, type Parsed } from "../submit/source";
import type { Files, Progress } from "../submit/submitting";
import { sendFiles } from "../submit/upload";
import { request, withFiles, type Draft } from "./draft";
import type { Preview, ScheduleDetail } from "./types";

const PAUSE_MS = 600;
const NOT_SENT = { digest: "0".repeat(64), size: 0 };
const NAMELESS = "unnamed"; // its other fields are looked at before it has a name

/** What the server would say. Files that are still to be sent count as there. */
export function usePreview(draft: Draft, parsed: Parsed) {
  const ask = useMutation<Preview, ApiError, Record<string, unknown>>({ mutationFn: (body) => post<Preview>("/schedules/preview", body) });
  const { mutate, reset } = ask;
  useEffect(() => {
    const asked = () => {
      const job = parsed.value ? withFiles(draft.job, parsed.value, new Map(localFiles(parsed.value).map((f) => [f.source, NOT_SENT]))) : draft.job;
      mutate({ ...request(draft, job), name: draft.name.trim() || NAMELESS });
    };
    const id = setTimeout(asked, PAUSE_MS);
    return () => { clearTimeout(id); reset(); };
  }, [draft]); // eslint-disable-line -- the draft decides what is parsed
  return ask;
}

async function save(draft: Draft, parsed: Parsed, files: Files, tell: (source: string, sent: number) => void, known?: ScheduleDetail): Promise<ScheduleDetail> {
  if (!parsed.value) throw new ApiError(0, "This is not a job file yet", "The lines at fault are marked.");
  const body = request(draft, withFiles(draft.job, parsed.value, await sendFiles(parsed.value, files, tell)));
  return known ? put<ScheduleDetail>(`/schedules/${known.id}`, { ...body, suspended: known.suspended, revision: known.revision }) : post<ScheduleDetail>("/schedules", body);
}

export function useSave(draft: Draft, parsed: Parsed, files: Files, sent: () => void, known?: ScheduleDetail) {
  const [, go] = useLocation();
  const [progress, setProgress] = useState<Progress>({});
  const send = useMutation<ScheduleDetail, ApiError>({
    mutationFn: () => save(draft, parsed, files, (source, sent) => setProgress((p) => ({ ...p, [source]: sent })), known),
    onSuccess: (kept) => {
      sent();
      go(`/schedules/${kept.id}`);
    },
    onError: () => setProgress({}),
  });
  return { send, progress };
}
