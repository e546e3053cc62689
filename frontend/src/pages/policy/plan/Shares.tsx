/** Shares before and after as bars, the largest change first; who gives back, who starves. */
import { SegmentedControl } from "@mantine/core";
import { useState } from "react";
import { Empty, Notice } from "../../../ui/parts";
import { barsOf, matters, mostMoved, type Bars } from "../model/planrows";
import { OF } from "../../../format/resources";
import { allWord, amountWord, RESOURCES, type ResourceName } from "../model/resources";
import { Wide } from "../../../ui/wide";
import type { Plan } from "../types";

const percent = (part: number | null): string => (part === null ? "–" : `${(100 * part).toFixed(1)} %`);

export function Shares({ plan }: { plan: Plan }) {
  const [resource, setResource] = useState<ResourceName>(() => mostMoved(plan));
  const [all, setAll] = useState(false);
  if (plan.loads_missing) return <Empty title="There are no shares to work out yet">No sub-cluster has said what it has and what its queues want.</Empty>;
  const rows = barsOf(plan, resource);
  const shown = all ? rows : rows.filter(matters).slice(0, 40);
  const resources = RESOURCES.filter((r) => plan.capacity[r] > 0);
  const back = allWord(plan.gives_back);
  return (
    <div className="policy-plan">
      <div className="row wrap">
        <p className="grow">
          {plan.changed ? <><b>{plan.changed}</b> of {plan.total} queues get another share.</> : "No queue gets another share."}{" "}
          {back !== "nothing" && <><b>{back}</b> would be taken back, because others lack it. </>}
          {plan.starving > 0 && <b>{plan.starving} {plan.starving === 1 ? "queue starves" : "queues starve"}.</b>}
        </p>
        {resources.length > 1 && <SegmentedControl size="xs" aria-label="Resource shown" value={resource} onChange={(v) => setResource(v as ResourceName)} data={resources.map((r) => ({ value: r, label: OF[r].word }))} />}
      </div>
      {plan.starving > 0 && <Notice kind="warn">A queue starves when it wants something and is due nothing, or less than its guarantee.</Notice>}
      {shown.length > 0 && <Table rows={shown} plan={plan} resource={resource} />}
      {rows.length > shown.length && <button type="button" className="linkish" onClick={() => setAll(true)}>All {rows.length} queues, also those that stay as they are</button>}
      <p className="legend">
        <span><i className="key before" aria-hidden="true" />now</span><span><i className="key after" aria-hidden="true" />then</span>
        <span><i className="key used" aria-hidden="true" />in use now</span><span><i className="key tick" aria-hidden="true" />guaranteed then</span>
        <span>of {amountWord(resource, plan.capacity[resource])} {resource === "memory_mib" ? "of memory" : OF[resource].word} in all</span>
      </p>
    </div>
  );
}

function Table({ rows, plan, resource }: { rows: Bars[]; plan: Plan; resource: ResourceName }) {
  const amount = (side: Bars["queue"]["before"]) => (side ? amountWord(resource, side.share[resource]) : "–");
  return (
    <Wide>
      <table className="grid policy-shares" aria-label={`Shares of ${OF[resource].word} now and then, of ${amountWord(resource, plan.capacity[resource])}`}>
        <thead><tr><th>Queue</th><th className="num">Now</th><th className="num">Then</th><th className="policy-barcell">Share</th><th>What follows</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.queue.path}>
              <td className="wrap-any">{row.queue.path}</td>
              <td className="num" title={percent(row.before)}>{amount(row.queue.before)}</td>
              <td className="num" title={percent(row.after)}>{amount(row.queue.after)}<Moved row={row} /></td>
              <td className="policy-barcell"><Bar row={row} /></td>
              <td className="small" data-starves={row.queue.after?.starves || undefined}>{row.notes.join("; ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Moved({ row }: { row: Bars }) {
  const by = 100 * ((row.after ?? 0) - (row.before ?? 0));
  if (Math.abs(by) < 0.05) return <span className="policy-moved muted">±0</span>;
  return <span className="policy-moved" data-down={by < 0 || undefined}>{by > 0 ? "+" : "−"}{Math.abs(by).toFixed(1)} %</span>;
}

function Bar({ row }: { row: Bars }) {
  const width = (part: number | null) => `${Math.min(100, 100 * (part ?? 0))}%`;
  const tick = row.guaranteed === null ? null : Math.min(99.6, 100 * row.guaranteed);
  return (
    <svg className="policy-bar2" width="100%" height="22" aria-hidden="true">
      <rect className="ground" width="100%" height="22" />
      <rect className="before" y="2" width={width(row.before)} height="8" />
      <rect className="after" y="12" width={width(row.after)} height="8" />
      <rect className="used" y="9.5" width={width(row.used)} height="3" />
      {tick !== null && tick > 0 && <rect className="tick" x={`${tick}%`} width="1.5" height="22" />}
    </svg>
  );
}
