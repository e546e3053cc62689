/** Whether the text is a right document: read here as one types, judged by the server shortly after. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ApiError, post } from "../../../api/client";
import type { FieldError, PolicyChecked } from "../../../api/types";
import { placeOf } from "../../../format/text";
import { pathOf, read, type Problem, type Reading } from "../model/text";

const PAUSE_MS = 350;

export interface Check {
  reading: Reading;
  problems: Problem[];
  state: "checking" | "right" | "wrong" | "unknown";
  queues: number | null;
  /** What is right as it stands, and perhaps not meant. */
  warnings: FieldError[];
  error: ApiError | null;
}

function useLater<T>(value: T, afterMs: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const id = setTimeout(() => setLater(value), afterMs);
    return () => clearTimeout(id);
  }, [value, afterMs]);
  return later;
}

function located(reading: Reading, errors: FieldError[]): Problem[] {
  return errors.map((e) => {
    const place = placeOf(reading, pathOf(e.field)) ?? { from: 0, to: 1, line: 1, column: 1 };
    return { ...place, field: e.field, message: e.message, ...(e.remedy && { remedy: e.remedy }) };
  });
}

export function useCheck(text: string): Check {
  const later = useLater(text, PAUSE_MS);
  const reading = useMemo(() => read(later), [later]);
  const asked = useQuery<PolicyChecked, ApiError>({
    queryKey: ["policy-check", later],
    queryFn: () => post<PolicyChecked>("/policy/validate", { document: reading.value }),
    enabled: reading.value !== null,
    retry: false,
    staleTime: Infinity,
    gcTime: 10_000,
  });
  const refused = asked.error && asked.error.status === 422 ? asked.error : null;
  const problems = useMemo(() => {
    if (reading.problems.length) return reading.problems;
    return refused ? located(reading, refused.errors) : [];
  }, [reading, refused]);
  const pending = later !== text || (reading.value !== null && asked.isPending);
  const state = pending ? "checking" : problems.length || refused ? "wrong" : asked.data ? "right" : "unknown";
  return { reading, problems, state, queues: asked.data?.queues ?? null, warnings: state === "right" ? asked.data?.warnings ?? [] : [], error: refused ? null : asked.error };
}
