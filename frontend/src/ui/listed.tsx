/** A list read page by page: that it is read, failed or is empty; its rows; the way to more of them. */
import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { count } from "../format/units";
import type { Pages } from "../live/pages";
import { Failed, Loading, Stale, useNow } from "./parts";

export function Listed<T>({ list, label, empty, children }: { list: Pages<T>; label: string; empty: ReactNode; children: (rows: T[]) => ReactNode }) {
  const now = useNow(10_000);
  const { rows, error } = list;
  if (!rows) return error ? <div className="body"><Failed error={error} retry={list.again} /></div> : <Loading label={`Loading ${label}`} />;
  return (
    <>
      {error && <div className="body"><Stale since={list.readAt} now={now} why={error.detail} /></div>}
      {rows.length === 0 ? empty : children(rows)}
      {list.more && (
        <div className="tasks-foot row wrap">
          <span className="grow small muted">The first {count(rows.length)} {label}; there are more.</span>
          <Button variant="default" loading={list.reading} onClick={list.more}>Show more</Button>
        </div>
      )}
    </>
  );
}
