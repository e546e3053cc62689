/** Sub-clusters compared: which of them, over which time, and what their components differ in. For operators and viewers. */
import { SegmentedControl } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useLocation, useSearch } from "wouter";
import { get, type ApiError } from "../../api/client";
import type { Comparison, Me, Overview } from "../../api/types";
import { useTopic } from "../../live/hooks";
import { Card, Command, Empty, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { Wide } from "../../ui/wide";
import { alike, commandOf, fromSearch, toSearch, WINDOWS, type Asked } from "./compare";
import { CompareTable } from "./CompareTable";

const EVERY_MS = 10_000;

export default function ComparePage({ me }: { me: Me }) {
  const asked = fromSearch(useSearch());
  const [, go] = useLocation();
  const now = useNow();
  const set = (more: Partial<Asked>) => go(`/fleet/compare${toSearch({ ...asked, ...more })}`, { replace: true });
  const overview = useTopic<Overview>("overview", (signal) => get<Overview>("/overview", signal)).data;
  const there = overview?.sub_clusters.filter((sc) => sc.state !== "decommissioned").map((sc) => sc.name) ?? [];
  const query = new URLSearchParams({ ...(asked.names.length && { names: asked.names.join(",") }), window_s: String(asked.windowS) });
  const read = useQuery<Comparison, ApiError>({
    queryKey: ["comparison", String(query)], queryFn: ({ signal }) => get(`/sub-clusters/compare?${query}`, signal),
    refetchInterval: EVERY_MS, retry: false, placeholderData: keepPreviousData,
  });
  const found = read.isPlaceholderData && read.error ? undefined : read.data;
  return (
    <>
      <div className="row wrap">
        <Which there={there} asked={asked} set={set} />
        <Command text={commandOf(asked)} />
        <SegmentedControl size="xs" aria-label="Looked back" value={String(asked.windowS)} onChange={(s) => set({ windowS: Number(s) })} data={WINDOWS.map(({ s, name }) => ({ value: String(s), label: name }))} />
      </div>
      {read.error && found && <Stale since={read.dataUpdatedAt} now={now} why={read.error.detail} />}
      <Card label="Comparison" flush>
        {!found ? (read.error ? <div className="body"><Failed error={read.error} retry={() => void read.refetch()} /></div> : <Loading lines={12} label="Loading the comparison" />)
          : found.sub_clusters.length === 0 ? <Empty title="No sub-cluster has joined yet">Once there are two, what they do stands here side by side.</Empty>
          : <Wide><CompareTable found={found} /></Wide>}
      </Card>
      {found && found.sub_clusters.length > 0 && <Differences found={found} operator={me.role === "operator"} />}
    </>
  );
}

/** Which sub-clusters are in it; all of them, until some are chosen. */
function Which({ there, asked, set }: { there: string[]; asked: Asked; set: (more: Partial<Asked>) => void }) {
  if (there.length < 2 && !asked.names.length) return <span className="grow" />;
  const names = [...there, ...asked.names.filter((name) => !there.includes(name))];
  const chosen = (name: string) => !asked.names.length || asked.names.includes(name);
  const toggle = (name: string) => {
    const next = names.filter((one) => (one === name ? !chosen(one) : chosen(one)));
    set({ names: next.length === there.length && there.every((one) => next.includes(one)) ? [] : next });
  };
  return (
    <div className="row wrap grow sides-which" role="group" aria-label="Sub-clusters to compare">
      {names.map((name) => (
        <label key={name} className="row">
          <input type="checkbox" checked={chosen(name)} disabled={chosen(name) && names.filter(chosen).length === 1} onChange={() => toggle(name)} />{name}
        </label>
      ))}
    </div>
  );
}

function Differences({ found, operator }: { found: Comparison; operator: boolean }) {
  const one = found.sub_clusters.length === 1;
  const same = alike(found);
  return (
    <p className="muted small sides-same">
      {one ? `There is nothing beside ${found.sub_clusters[0]!.name}. It runs: ${same}.` : `${found.differs.length ? "The same in all" : "All run the same components"}: ${same}.`}
      {operator && <> To try something in one of them, say so under <Link href="/policy/edit?at=/sub_clusters">Policy, Sub-clusters</Link>.</>}
    </p>
  );
}
