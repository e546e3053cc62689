/** A list that is read page by page and shown as far as it was read. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { API, call, type ApiError } from "../api/client";
import type { Page } from "../api/types";
import { useThrottled } from "./throttled";

const EVERY_MS = 1_000;

export interface Pages<T, P = Page<T>> {
  /** What was read so far; undefined before the first page. */
  rows: T[] | undefined;
  /** The pages that they are of. */
  pages: P[] | undefined;
  error: ApiError | null;
  /** When the rows were read, in ms since 1970. */
  readAt: number;
  /** Reads the next page; null when there is none. */
  more: (() => void) | null;
  reading: boolean;
  again: () => void;
}

interface How {
  enabled?: boolean;
  /** Read once: what took long is not read again for somebody who comes back to the window. */
  still?: boolean;
}

/** `path` with its parameters; read again, as far as it was, when `signature` changes. */
export function usePages<T, P extends Page<T> = Page<T>>(path: string, signature: string, { enabled = true, still = false }: How = {}): Pages<T, P> {
  const pages = useInfiniteQuery<P, ApiError, { pages: P[] }, unknown[], string>({
    queryKey: ["pages", path],
    queryFn: ({ pageParam, signal }) => call<P>(pageParam, { signal }),
    initialPageParam: `${API}${path}`,
    getNextPageParam: (page) => page.next,
    enabled,
    retry: 1,
    ...(still && { staleTime: Infinity }),
  });
  const { refetch, isFetching } = pages;
  const moved = useThrottled(signature, EVERY_MS);
  const read = useRef<string | null>(signature);
  useEffect(() => {
    if (!enabled || isFetching || read.current === moved) return; // one that is under way would be given up for it
    read.current = moved;
    void refetch();
  }, [moved, enabled, isFetching, refetch]);
  const more = () => {
    if (isFetching) read.current = null; // is given up for it, and owed then
    void pages.fetchNextPage();
  };
  return {
    rows: pages.data?.pages.flatMap((page) => page.results), pages: pages.data?.pages, error: pages.error, readAt: pages.dataUpdatedAt,
    more: pages.hasNextPage ? more : null, reading: pages.isFetchingNextPage, again: () => void refetch(),
  };
}
