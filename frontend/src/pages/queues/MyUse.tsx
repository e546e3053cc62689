/** What an account used, hour by hour, as bars, a table and a file. */
import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { API } from "../../api/client";
import type { Me } from "../../api/types";
import { hydractl } from "../../format/shell";
import { count, moment, short } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Download } from "../../ui/icons";
import { Card, Command, Empty, Failed, Loading, Notice } from "../../ui/parts";
import { ByTag } from "./ByTag";
import type { UsedHours } from "./types";
import { bars, MEASURES, sums } from "./use";
import "../../styles/queues.css";

const HOUR_MS = 3_600_000;

export function MyUse({ days: shown, choose, me }: { days: number; choose: (days: number) => void; me: Me }) {
  const [until] = useState(() => Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  const [measure, setMeasure] = useState(0);
  const span = new URLSearchParams({ begin: new Date(until - shown * 24 * HOUR_MS).toISOString(), end: new Date(until).toISOString() });
  const found = useRead<UsedHours>(`/usage/hours?${span}&step=${shown > 7 ? "day" : "hour"}`);
  const days = [{ value: "1", label: "The last day" }, { value: "7", label: "The last week" }, { value: "30", label: "The last 30 days" }, { value: "90", label: "The last 90 days" }];
  return (
    <>
      <div className="filters" role="search" aria-label="Choose what is shown">
        <NativeSelect aria-label="Time" data={days} value={String(shown)} onChange={(e) => choose(Number(e.currentTarget.value))} />
        <NativeSelect aria-label="Resource" data={MEASURES.map((m, i) => ({ value: String(i), label: m.label }))} value={String(measure)} onChange={(e) => setMeasure(Number(e.currentTarget.value))} />
        <Button variant="default" leftSection={<Download />} renderRoot={(props) => <a {...props} href={`${API}/usage/hours.csv?${span}`} download />}>Save as CSV</Button>
        {me.role !== "tenant" && <Button variant="default" leftSection={<Download />} renderRoot={(props) => <a {...props} href={`${API}/usage/hours.csv?${span}&all_accounts=yes`} download />}>Save all accounts as CSV</Button>}
      </div>
      <Card title={`What the jobs of ${me.username} used`}>
        {found.data ? <Used found={found.data} measure={measure} /> : found.error ? <Failed error={found.error} retry={() => void found.refetch()} /> : <Loading label="Loading what was used" />}
      </Card>
      <Command text={hydractl("usage", "--days", shown, "--csv")} />
      <ByTag span={span.toString()} days={shown} all={me.role !== "tenant"} />
    </>
  );
}

function Used({ found, measure }: { found: UsedHours; measure: number }) {
  const by = MEASURES[measure] ?? MEASURES[0];
  const made = bars(found, by.of);
  const most = Math.max(...made.map((b) => b.total), 0);
  const total = made.reduce((n, b) => n + b.total, 0);
  const rows = sums(found);
  if (rows.length === 0) return <Empty title="Nothing was used in this time">A container counts in the hour in which it ends, for all the time it was held.</Empty>;
  const text = `${by.label} by ${found.step}: ${short(total)} ${by.unit} in all, at most ${short(most)} in one ${found.step}`;
  return (
    <div className="my-use">
      <svg className="used-bars" role="img" aria-label={text} preserveAspectRatio="none" viewBox={`0 0 ${made.length * 10} 100`}><title>{text}</title>
        {most > 0 && made.map((bar, i) => bar.total > 0 && <rect key={bar.at} className="qbar-used" x={i * 10 + 1} width="8" y={100 - (96 * bar.total) / most} height={(96 * bar.total) / most}><title>{`${moment(new Date(bar.at).toISOString())}: ${short(bar.total)} ${by.unit}`}</title></rect>)}
      </svg>
      <div className="row small muted"><span className="grow">{moment(found.begin)}</span><span>{moment(found.end)}</span></div>
      <p className="small muted">{text}. A container counts in the {found.step} in which it ended, for all the time it was held; what still runs is not in it.</p>
      {!found.complete && <Notice kind="warn">There is more than fits here. The CSV file has all of it.</Notice>}
      <div className="table-wrap"><table className="grid"><thead><tr><th>Queue</th><th className="num">Containers</th><th className="num">GiB hours</th><th className="num">Core hours</th><th className="num">GPU hours</th></tr></thead>
        <tbody>{rows.map((r) => <tr key={r.queue}><td className="clip">{r.queue}</td><td className="num">{count(r.containers)}</td><td className="num">{short(r.memory)}</td><td className="num">{short(r.cores)}</td><td className="num">{short(r.gpus)}</td></tr>)}</tbody></table></div>
    </div>
  );
}
