/** Pages of a list by the server's cursors; what is chosen, the cursor as well, stands in the address. */
import { Button } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useSearchParams } from "wouter";
import type { ApiError } from "../../api/client";
import type { Page } from "../../api/types";
import { Failed, Loading, Stale, useNow } from "../../ui/parts";
import { cursorOf } from "../jobs/filters";

type Put = (more: Record<string, string | null>, replace?: boolean) => void;

/** What the address says, and how to say some of it otherwise; null takes it out. */
export function useChosen(): [URLSearchParams, Put] {
  const [search, setSearch] = useSearchParams();
  const put: Put = (more, replace = true) => setSearch((was) => {
    const next = new URLSearchParams(was);
    for (const [name, value] of Object.entries(more)) value === null ? next.delete(name) : next.set(name, value);
    return next;
  }, { replace });
  return [search, put];
}

export interface CursorView {
  /** `&cursor=…`, or nothing. */
  query: string;
  set: (address: string | null) => void;
}

export function useCursor(): CursorView {
  const [search, put] = useChosen();
  const cursor = search.get("cursor");
  return {
    query: cursor ? `&cursor=${encodeURIComponent(cursor)}` : "",
    set: (address) => put({ cursor: cursorOf(address) || null }, false),
  };
}

/** One page of a list as `children` show it, or that it failed, is read or is empty; and the way to the others. */
export function Paged<T>({ read, cursor, empty, children }: {
  read: UseQueryResult<Page<T>, ApiError>; cursor: CursorView; empty: ReactNode; children: (rows: T[]) => ReactNode;
}) {
  const page = read.data;
  const now = useNow(10_000);
  return (
    <>
      {read.error && page && <div className="body"><Stale since={read.dataUpdatedAt} now={now} why={read.error.detail} /></div>}
      {read.error && !page ? <div className="body"><Failed error={read.error} retry={() => void read.refetch()} /></div> : !page ? <Loading lines={8} /> : page.results.length ? children(page.results) : empty}
      <Pager page={page} cursor={cursor} />
    </>
  );
}

function Pager({ page, cursor }: { page: Page<unknown> | undefined; cursor: CursorView }) {
  if (!page || (!page.next && !page.previous)) return null;
  return (
    <nav className="policy-pager" aria-label="Pages of the list">
      <Button variant="default" size="compact-sm" disabled={!page.previous} onClick={() => cursor.set(page.previous)}>Newer</Button>
      <Button variant="default" size="compact-sm" disabled={!page.next} onClick={() => cursor.set(page.next)}>Older</Button>
    </nav>
  );
}
