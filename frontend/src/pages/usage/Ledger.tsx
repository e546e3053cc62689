/** What an account used over time, what it waited and what it wasted: as charts, by queue and by tag, and as files. */
import { Button, NativeSelect } from "@mantine/core";
import { useMemo, useState } from "react";
import { API } from "../../api/client";
import type { Me } from "../../api/types";
import { Chart } from "../../charts/Chart";
import { duration, many, short } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Download } from "../../ui/icons";
import { Card, Command, Empty, Failed, Loading, Notice } from "../../ui/parts";
import { Typed } from "../../ui/typed";
import { Wide } from "../../ui/wide";
import { ByAccount } from "./ByAccount";
import { ByTag } from "./ByTag";
import { byQueue, command, DAYS, meanWait, overTime, percent, spent, type Part, type Shown, type Spent, type UsedHours } from "./ledger";
import { UseTable } from "./UseTable";
import "../../styles/usage.css";

const HOUR_MS = 3_600_000;
const HOURLY_DAYS = 7; // up to so many days are told by the hour

export function Ledger({ shown, choose, me }: { shown: Shown; choose: (next: Partial<Shown>) => void; me: Me }) {
  const [until] = useState(() => Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  const all = me.role !== "tenant";
  const time = { begin: new Date(until - shown.days * 24 * HOUR_MS).toISOString(), end: new Date(until).toISOString() };
  const whose = new URLSearchParams({ ...time, ...(shown.owner && { owner: shown.owner }) });
  const span = new URLSearchParams([...whose, ...(shown.queue ? [["queue", shown.queue]] : [])]).toString();
  const ofAll = all ? new URLSearchParams({ ...time, ...(shown.queue && { queue: shown.queue }), all_accounts: "yes" }).toString() : null;
  const step = shown.tag || shown.days > HOURLY_DAYS ? "day" : "hour";
  const how = new URLSearchParams({ step, ...(shown.tag && { tag: shown.tag }) });
  const every = useRead<UsedHours>(`/usage/hours?${whose}&${how}`);
  // Of one queue the server has all, where the hours of all queues are more than it answers with; of all queues it is one and the same read.
  const found = useRead<UsedHours>(`/usage/hours?${span}&${how}`);
  const meanwhile = every.data?.complete && !found.error ? every.data : undefined;
  const drawn = found.data ?? meanwhile;
  const queues = [...new Set([...(shown.queue ? [shown.queue] : []), ...(every.data?.results.map((row) => row.queue) ?? [])])].sort();
  const save = (text: string, query: string) => <Button variant="default" leftSection={<Download />} renderRoot={(props) => <a {...props} href={`${API}/usage/hours.csv?${query}`} download />}>{text}</Button>;
  return (
    <>
      <div className="filters" role="search" aria-label="Choose what is shown">
        {all && <Typed label="Account" placeholder={me.username} value={shown.owner} set={(owner) => choose({ owner })} />}
        <NativeSelect aria-label="Time" data={DAYS} value={String(shown.days)} onChange={(e) => choose({ days: Number(e.currentTarget.value) })} />
        <NativeSelect aria-label="Queue" data={[{ value: "", label: "All queues" }, ...queues]} value={shown.queue} onChange={(e) => choose({ queue: e.currentTarget.value })} />
        {!shown.tag && save("Save as CSV", span)}
        {!shown.tag && ofAll && save("Save all accounts as CSV", ofAll)}
      </div>
      {drawn ? <Told found={drawn} every={every.data ?? drawn} whose={shown.owner || me.username} of={shown} choose={choose} />
        : <Card>{found.error ? <Failed error={found.error} retry={() => void found.refetch()} /> : <Loading label="Loading what was used" />}</Card>}
      <Command text={shown.tag ? command(shown, "--tag", shown.tag) : command(shown, "--csv")} />
      <ByTag span={span} all={ofAll} shown={shown} choose={(tag) => choose({ tag })} />
      {all && <ByAccount time={new URLSearchParams({ ...time, ...(shown.queue && { queue: shown.queue }) }).toString()} shown={shown} choose={(owner) => choose({ owner })} />}
    </>
  );
}

/** `found`: what is drawn; `every`: of all queues, for the choice among them. */
function Told({ found, every, whose, of: { queue, tag }, choose }: { found: UsedHours; every: UsedHours; whose: string; of: Shown; choose: (next: Partial<Shown>) => void }) {
  const rows = useMemo(() => byQueue(every), [every]);
  const { at, stepS, charts } = useMemo(() => overTime(found, queue), [found, queue]);
  const total = useMemo(() => spent(found.results.filter((row) => !queue || row.queue === queue)), [found, queue]);
  const span = { from: (at[0] ?? 0) - stepS / 2, to: (at.at(-1) ?? 0) + stepS / 2 };
  return (
    <>
      <Card title={`What the jobs of ${whose} ${tag ? `tagged ${tag} ` : ""}used${queue ? ` in ${queue}` : ""}`} aside={tag && <Button variant="default" onClick={() => choose({ tag: "" })}>Whatever the tags</Button>}>
        {total.containers === 0 ? <Empty title="Nothing was used in this time">A container counts in the {found.step} in which it ends, for all the time it was held.</Empty> : <Total total={total} step={found.step} />}
        {!found.complete && <Notice kind="warn">There is more than fits here. The CSV file{tag && " of tags"} has all of it.</Notice>}
      </Card>
      {total.containers > 0 && (
        <div className="chart-grid">
          {charts.map((chart) => <Chart key={chart.title} {...chart} at={at} stepS={stepS} span={span} format={short} sync="ledger" />)}
        </div>
      )}
      {rows.length > 0 && (
        <Card title="By queue" flush>
          {queue && !every.complete && <Notice kind="warn">There is more than fits here. The CSV file of all queues has all of it.</Notice>}
          <Wide><UseTable of="Queue" rows={rows} name={(path) => <button type="button" className="linkish" aria-pressed={path === queue} onClick={() => choose({ queue: path === queue ? "" : path })}>{path}</button>} /></Wide>
        </Card>
      )}
    </>
  );
}

function Total({ total, step }: { total: Spent; step: string }) {
  const wait = meanWait(total);
  return (
    <>
      <dl className="facts spent">
        <Amounts name="Memory" unit="GiB hours" part={total.memory} />
        <Amounts name="Cores" unit="core hours" part={total.cores} />
        {total.gpus > 0 && <div><dt>GPUs</dt><dd>{short(total.gpus)} GPU hours</dd></div>}
        <div><dt>Waited</dt><dd>{wait === null ? "–" : `${duration(wait)} on average`}</dd><dd className="muted small">{wait === null ? "no task could have started at its submit" : `${many(total.tasks, "task")}, ${duration(total.waited * HOUR_MS)} together`}</dd></div>
      </dl>
      <p className="small muted">A container counts in the {step} in which it ended, for all the time it was held; what still runs is not in it. Memory is used as far as each container's peak. Wasted is what was allocated and not used.</p>
    </>
  );
}

function Amounts({ name, unit, part }: { name: string; unit: string; part: Part }) {
  const of = percent(part.wasted, part);
  return (
    <div>
      <dt>{name}</dt>
      <dd>{part.wasted === null ? "not measured" : <>{short(part.wasted)} {unit} wasted{of !== null && `, ${of} %`}</>}</dd>
      <dd className="muted small">{short(part.held)} allocated{part.used !== null && `, ${short(part.used)} used`}</dd>
    </div>
  );
}
