/** From a job file to a job: checked as it is written, its files sent, then submitted once. */
import { useMutation } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { API, ApiError, call, post, put, within } from "../../api/client";
import type { Checked, Job } from "../../api/types";
import { useCtrlEnter } from "../../ui/ctrlenter";
import type { Rules } from "./rollout";
import { localFiles, withUploads, withValues, type Parsed } from "./source";
import { sendFiles } from "./upload";

export type Files = Record<string, File>;
/** What was typed for parameters, by name. */
export type Values = Record<string, string>;
/** Bytes sent, by source. */
export type Progress = Record<string, number>;

const YAML = "application/yaml";
const PAUSE_MS = 600;
const NOT_SENT = { digest: "0".repeat(64), size: 0 };

async function submit(parsed: Parsed, values: Values, files: Files, key: string, tell: (source: string, sent: number) => void, update?: Update): Promise<Job> {
  if (!parsed.value) throw new ApiError(0, "This is not a job file yet", "The lines at fault are marked.");
  const spec = withValues(withUploads(parsed.value, await sendFiles(parsed.value, files, tell)), values);
  return update ? rollOut(update, spec, false) : post<Job>("/jobs", spec, { "Idempotency-Key": key });
}

/** The service that is to run this, in place of a new job. */
export interface Update { job: Job; rules: Rules }

/** Have it run this; `trial`: only say what that would change. Fields are named as in the file. */
async function rollOut({ job, rules }: Update, spec: Record<string, unknown>, trial: boolean): Promise<Job> {
  try {
    const answer = await put<Job>(`/jobs/${job.id}/spec`, { ...rules, revision: job.revision ?? 1, spec, ...(trial ? { dry_run: true } : {}) });
    return { ...answer, warnings: answer.warnings?.map((w) => ({ ...w, field: w.field.replace(/^spec\./, "") })) };
  } catch (error) {
    throw error instanceof ApiError ? within("spec", error) : error;
  }
}

export function useSubmit(parsed: Parsed, values: Values, files: Files, text: string, sent: () => void, update?: Update) {
  const [, go] = useLocation();
  const [progress, setProgress] = useState<Progress>({});
  // The same text tried twice (a lost answer, an impatient second click) is one job.
  const key = useMemo(() => `web-${Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("")}`, [text, values]); // eslint-disable-line
  const send = useMutation<Job, ApiError>({
    mutationFn: () => submit(parsed, values, files, key, (source, sent) => setProgress((p) => ({ ...p, [source]: sent })), update),
    onSuccess: (job) => {
      if (job.unchanged) return;
      sent();
      go(`/jobs/${job.id}`);
    },
    onError: () => setProgress({}),
  });
  const once = () => { if (parsed.value && !send.isPending) send.mutate(); };
  useCtrlEnter(once);
  return { send, submit: once, progress };
}

/** What the server would say, asked for when the writing pauses. Files that are still to be sent count as there. */
export function useCheck(parsed: Parsed, values: Values, text: string, update?: Update) {
  const check = useMutation<Looked, ApiError, Record<string, unknown> | string>({
    mutationFn: async (job) => {
      // A text that cannot be read goes as it is: the server says what is wrong with it.
      if (typeof job === "string") return { checked: await call<Checked>(`${API}/jobs/validate`, { method: "POST", body: new Blob([job], { type: YAML }), headers: { "Content-Type": YAML } }) };
      return update ? { tried: await rollOut(update, job, true) } : { checked: await post<Checked>("/jobs/validate", job) };
    },
  });
  const { mutate, reset } = check;
  useEffect(() => {
    reset();
    const value = parsed.value;
    const asked = () => mutate(value ? withValues(withUploads(value, new Map(localFiles(value).map((f) => [f.source, NOT_SENT]))), values) : text);
    const id = setTimeout(asked, PAUSE_MS);
    return () => clearTimeout(id);
  }, [text, values, update?.rules]); // eslint-disable-line -- the text decides what is parsed
  return check;
}

/** Of a new job, or of a service that would run it. */
interface Looked { checked?: Checked; tried?: Job }
