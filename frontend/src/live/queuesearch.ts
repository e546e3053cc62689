/** Queues by a part of their path: the server searches, and answers with the first of them. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { get, type ApiError } from "../api/client";
import type { Page, Queue } from "../api/types";
import type { Found } from "../ui/combobox";

export const SHOWN_MAX = 50;
const WAIT_MS = 180;

/** Which of them are looked for: those one may submit to, those one sees whole, or all that one sees. */
export type Which = "may_submit" | "whole" | "any";

export function queuesPath(text: string, which: Which): string {
  return `/queues?${new URLSearchParams({ page_size: String(SHOWN_MAX), ...(text && { contains: text }), ...(which !== "any" && { [which]: "yes" }) })}`;
}

function useSettled(text: string | null): string | null {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    if (text === null || text === "") return setSettled(text);
    const id = setTimeout(() => setSettled(text), WAIT_MS);
    return () => clearTimeout(id);
  }, [text]);
  return settled;
}

/** `typed`: null asks for nothing. */
export function useQueueSearch(typed: string | null, which: Which): Found & { error: ApiError | null } {
  const wanted = typed === null ? null : typed.trim();
  const text = useSettled(wanted);
  const read = useQuery<Page<Queue>, ApiError>({
    queryKey: ["queues-found", which, text], enabled: text !== null, staleTime: 10_000, retry: 1, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => get<Page<Queue>>(queuesPath(text ?? "", which), signal),
  });
  return {
    options: (read.data?.results ?? []).map((q) => q.path), more: Boolean(read.data?.next), error: read.error,
    busy: wanted !== null && (text !== wanted || read.isPending || read.isPlaceholderData) && !read.error, failed: read.error ? read.error.detail || read.error.title : null,
  };
}
