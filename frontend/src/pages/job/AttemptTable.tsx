/** Attempts as a table of which only the rows in view exist. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { Link } from "wouter";
import type { Container } from "../../api/types";
import { duration, moment } from "../../format/units";
import { State } from "../../ui/parts";

const ROW = 34;
const HEADS = ["Task", "Attempt", "State", "Why", "Node", "Sub-cluster", "Began", "Ran", "Exit"];

export function AttemptTable({ attempts }: { attempts: Container[] }) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({ count: attempts.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 12 });
  return (
    <div ref={box} className="task-rows attempt-rows" role="table" aria-label="Attempts" aria-rowcount={attempts.length + 1} tabIndex={0}>
      <div role="row" className="attempt-row head" aria-rowindex={1}>{HEADS.map((h) => <span role="columnheader" key={h}>{h}</span>)}</div>
      <div role="rowgroup" style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const a = attempts[row.index];
          return a && <Row key={row.key} a={a} index={row.index} at={row.start} />;
        })}
      </div>
    </div>
  );
}

function Row({ a, index, at }: { a: Container; index: number; at: number }) {
  const ran = a.started_at ? duration((a.finished_at ? Date.parse(a.finished_at) : Date.now()) - Date.parse(a.started_at)) : "–";
  const why = a.reason && !["NONE", "EXIT_CODE"].includes(a.reason) ? a.reason.toLowerCase().replaceAll("_", " ") : "–";
  return (
    <div role="row" aria-rowindex={index + 2} className="attempt-row" style={{ transform: `translateY(${at}px)`, position: "absolute" }}>
      <span role="cell" className="clip" title={a.id}>{a.group}/{a.index}</span><span role="cell">{a.attempt}</span><span role="cell"><State state={a.state} /></span>
      <span role="cell" className="clip">{why}</span><span role="cell" className="clip"><Link href={`/fleet?${new URLSearchParams({ sub: a.sub_cluster ?? "", q: a.node ?? "" })}`}>{a.node}</Link></span>
      <span role="cell" className="clip">{a.sub_cluster}</span><span role="cell" title={moment(a.allocated_at)}>{moment(a.started_at).slice(-8)}</span><span role="cell">{ran}</span><span role="cell">{a.finished_at ? (a.exit_code ?? "–") : "–"}</span>
    </div>
  );
}
