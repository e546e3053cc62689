/** Jobs under filters, a page at a time from the server. The first page is live; all that is chosen stands in the address. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { get, type ApiError } from "../../api/client";
import type { Job, Me, Page } from "../../api/types";
import { useTopic } from "../../live/hooks";
import { Card, Command, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { BulkActions } from "./BulkActions";
import { address, command, cursorOf, fromSearch, picked, toQuery, topic, type FilterName } from "./filters";
import { JobFilters } from "./JobFilters";
import { JobTable } from "./JobTable";
import { keepColumns, keptColumns, lookOf, lookQuery, lookWords, type Look } from "./look";
import { LookBar } from "./LookBar";
import { SavedViews } from "./SavedViews";
import "./jobs.css";

function useJobs(search: string) {
  const filters = fromSearch(search);
  const cursor = cursorOf(search);
  const query = toQuery(filters);
  const first = useTopic<Page<Job>>(topic(filters), (signal) => get<Page<Job>>(`/jobs${query ? `?${query}` : ""}`, signal), cursor === "");
  const older = useQuery<Page<Job>, ApiError>({
    queryKey: ["jobs-page", query, cursor], enabled: cursor !== "", retry: 1,
    queryFn: ({ signal }) => get<Page<Job>>(`/jobs?${[query, `cursor=${encodeURIComponent(cursor)}`].filter(Boolean).join("&")}`, signal),
  });
  const view = cursor === "" ? { page: first.data, error: first.error, at: first.updatedAt } : { page: older.data, error: older.error, at: older.dataUpdatedAt };
  return { filters, cursor, query, ...view };
}

export function JobsPage({ me }: { me: Me }) {
  const search = useSearch();
  const { filters, cursor, query, page, error, at } = useJobs(search);
  const look = lookOf(search, keptColumns());
  const looks = lookQuery(look);
  const [, go] = useLocation();
  const [chosen, choose] = useState<ReadonlySet<number>>(new Set());
  useEffect(() => choose(new Set()), [query, cursor]);
  const set = (name: FilterName, value: string) => go(address({ ...filters, [name]: value }, "", looks), { replace: true });
  const show = (next: Partial<Look>) => {
    if (next.columns) keepColumns(next.columns);
    go(address(filters, cursor, lookQuery({ ...look, ...next })), { replace: true });
  };
  const jobs = page?.results ?? [];
  const oldest = filters.order === "oldest";
  return (
    <>
      <div className="page-head row">
        <h1 className="grow">Jobs</h1>
        {me.role !== "viewer" && <Button renderRoot={(props) => <Link href="/submit" {...props} />}>Submit a job</Button>}
      </div>
      <SavedViews filters={filters} />
      <JobFilters filters={filters} set={set} clear={() => go(address({}, "", looks))} />
      <LookBar look={look} set={show} />
      {error && page && <StaleLine at={at} why={error.detail} />}
      {chosen.size > 0 && <BulkActions jobs={picked(jobs, chosen)} clear={() => choose(new Set())} />}
      <Card flush label="Jobs">
        {page ? <JobTable jobs={jobs} filtered={query !== ""} me={me} chosen={chosen} choose={choose} look={look} sort={(sort) => show({ sort })} />
          : error ? <div className="body"><Failed error={error} /></div> : <Loading lines={6} label="Loading jobs" />}
      </Card>
      <div className="row wrap">
        <Command text={command(filters, lookWords(look))} />
        <span className="grow" />
        {look.sort && (page?.next || page?.previous) && <span className="muted small job-list-foot" role="status">Sorted are the {jobs.length} jobs of this page</span>}
        {cursor !== "" && <span className="muted small job-list-foot">As it was when read; <Link href={address(filters, "", looks)}>the first page</Link> is live</span>}
        <div className="row">
          <Button variant="default" disabled={cursor === "" || !page?.previous} onClick={() => go(address(filters, cursorOf(page?.previous), looks))}>{oldest ? "Older" : "Newer"}</Button>
          <Button variant="default" disabled={!page?.next} onClick={() => go(address(filters, cursorOf(page?.next), looks))}>{oldest ? "Newer" : "Older"}</Button>
        </div>
      </div>
    </>
  );
}

function StaleLine({ at, why }: { at: number; why: string }) {
  return <Stale since={at} now={useNow()} why={why || undefined} />;
}
