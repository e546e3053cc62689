/** Temporary overrides on a calendar, by week or month. */
import { Button, SegmentedControl } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { post, type ApiError } from "../../../api/client";
import type { Page } from "../../../api/types";
import type { PageProps } from "../../../app/pages";
import { moment } from "../../../format/units";
import { useFollowed } from "../../../live/hooks";
import { Card, Command, Confirm, Empty, Failed, Loading } from "../../../ui/parts";
import { dayFrom, dayKey, turned, weeksOf, type Span } from "../model/calendar";
import { useChosen } from "../pager";
import { Wide } from "../../../ui/wide";
import { useSpread } from "../spread";
import type { Override } from "../types";
import { AddOverride } from "./AddOverride";
import { Calendar } from "./Calendar";

export const STATES: Record<Override["state"], string> = { planned: "planned", in_force: "in force", refused: "refused", over: "over", cancelled: "cancelled" };

export default function OverridesTab({ me }: PageProps) {
  const writes = me.role === "operator";
  const spread = useSpread();
  const [search, put] = useChosen();
  const span: Span = search.get("span") === "week" ? "week" : "month";
  const at = dayFrom(search.get("day"));
  const page = useFollowed<Page<Override>>("/policy/overrides?all=yes&page_size=200", spread.data?.convergence?.version ?? "");
  const [adding, setAdding] = useState<string | null>(null);
  const chosen = Number(search.get("override"));
  const rows = page.data?.results;
  const weeks = useMemo(() => weeksOf(at, span, rows ?? []), [at.getTime(), span, rows]);
  if (page.error && !page.data) return <Failed error={page.error} retry={() => void page.refetch()} />;
  if (!rows) return <Loading lines={8} />;
  const title = at.toLocaleDateString("en-GB", { month: "long", year: "numeric" });
  const one = rows.find((o) => o.id === chosen);
  return (
    <>
      <div className="policy-bar">
        <Button variant="default" size="compact-md" aria-label={`Previous ${span}`} onClick={() => put({ day: dayKey(turned(at, span, -1)) })}>←</Button>
        <Button variant="default" size="compact-md" onClick={() => put({ day: null })}>Today</Button>
        <Button variant="default" size="compact-md" aria-label={`Next ${span}`} onClick={() => put({ day: dayKey(turned(at, span, 1)) })}>→</Button>
        <h2 className="grow" aria-live="polite">{title}</h2>
        <SegmentedControl size="xs" aria-label="Span of the calendar" value={span} onChange={(v) => put({ span: v === "week" ? "week" : null })} data={[{ value: "month", label: "Month" }, { value: "week", label: "Week" }]} />
        {writes && <Button onClick={() => setAdding("")}>Add an override…</Button>}
      </div>
      <Card flush label="Calendar"><Calendar weeks={weeks} span={span} chosen={chosen} choose={(id) => put({ override: id === null ? null : String(id) })} add={writes ? setAdding : null} /></Card>
      {one && <One override={one} writes={writes} close={() => put({ override: null })} />}
      <List rows={rows.filter((o) => o.state === "planned" || o.state === "in_force" || o.state === "refused")} choose={(id) => put({ override: String(id) })} />
      {adding !== null && <AddOverride day={adding} onClose={() => setAdding(null)} />}
    </>
  );
}

function List({ rows, choose }: { rows: Override[]; choose: (id: number) => void }) {
  return (
    <Card flush title="In force and to come" aside={<Command text="hydractl policy overrides list" />}>
      {!rows.length ? <Empty title="No override holds or is planned">An override gives a field of a queue another value for a time, such as root.ads +20 % until Monday.</Empty> : (
        <Wide>
          <table className="grid" aria-label="Overrides">
            <thead><tr><th>What</th><th>State</th><th>From</th><th>Until</th><th>By</th><th>Why</th></tr></thead>
            <tbody>
              {rows.map((o) => (
                <tr key={o.id}><td><button type="button" className="linkish" onClick={() => choose(o.id)}>{o.text}</button></td><td>{STATES[o.state]}</td><td className="nowrap">{moment(o.starts_at)}</td><td className="nowrap">{moment(o.ends_at)}</td><td>{o.author ?? "the system"}</td><td className="policy-message">{o.problem || o.message}</td></tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </Card>
  );
}

function One({ override: o, writes, close }: { override: Override; writes: boolean; close: () => void }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const send = useMutation<Override, ApiError>({
    mutationFn: () => post<Override>(`/policy/overrides/${o.id}/cancel`, {}),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); setAsking(false); },
  });
  const live = writes && (o.state === "planned" || o.state === "in_force" || o.state === "refused");
  return (
    <Card title={o.text} label={`Override ${o.id}`} aside={<span className="tag">{STATES[o.state]}</span>}>
      <dl className="facts">
        <div><dt>From</dt><dd>{moment(o.starts_at)}</dd></div><div><dt>Until</dt><dd>{moment(o.ends_at)}</dd></div><div><dt>By</dt><dd>{o.author ?? "the system"}</dd></div><div><dt>Why</dt><dd>{o.message}</dd></div>
        {o.problem && <div><dt>Does not hold, because</dt><dd>{o.problem}</dd></div>}
        {o.cancelled_at && <div><dt>Cancelled</dt><dd>{moment(o.cancelled_at)} by {o.cancelled_by ?? "the system"}</dd></div>}
      </dl>
      <div className="row wrap policy-actions">
        {live && <Button variant="default" onClick={() => setAsking(true)}>Cancel it…</Button>}
        <Button variant="subtle" onClick={close}>Close</Button>
        {live && <Command text={`hydractl policy overrides cancel ${o.id}`} />}
      </div>
      {asking && (
        <Confirm title="Cancel the override" action="Cancel the override" busy={send.isPending} error={send.error} onClose={() => setAsking(false)} onConfirm={() => send.mutate()}>
          <p>{o.state === "planned" ? "It never comes into force." : "It ends now: what the policy says holds again, as a new version."}</p>
        </Confirm>
      )}
    </Card>
  );
}
