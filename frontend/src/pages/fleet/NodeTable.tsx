/** The nodes of the map as a table that can be sorted; only the rows in sight are in the page. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { Link } from "wouter";
import { Down, Up } from "../../ui/icons";
import { State, useNow } from "../../ui/parts";
import { ageText, filled, share, standingOf } from "./look";
import { rackOf, type Fleet } from "./model";
import { sorted, sortOf, type Row, type Sort } from "./table";

const ROW_PX = 36;
const COLUMNS: { key: Sort; name: string; num?: boolean }[] = [
  { key: "name", name: "Node" }, { key: "state", name: "State" }, { key: "sub", name: "Sub-cluster" }, { key: "rack", name: "Rack" },
  { key: "memory", name: "Memory", num: true }, { key: "used_memory", name: "used", num: true }, { key: "cores", name: "Cores", num: true },
  { key: "used_cores", name: "used", num: true }, { key: "gpus", name: "GPUs", num: true }, { key: "containers", name: "Containers", num: true }, { key: "seen", name: "Last seen", num: true },
];

export default function NodeTable({ fleet, orders, sort, onSort }: { fleet: Fleet; orders: Uint32Array[]; sort: string; onSort: (sort: string) => void }) {
  const rows = useMemo(() => sorted(fleet, orders, sort), [fleet, orders, sort]);
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => ROW_PX, overscan: 12 });
  const now = useNow() + fleet.skewMs;
  return (
    <section className="card" aria-label="Nodes">
      <div ref={box} className="node-table" tabIndex={0} role="table" aria-label="Nodes" aria-rowcount={rows.length + 1}>
        <div role="rowgroup" className="node-head"><div role="row" aria-rowindex={1} className="node-row">{COLUMNS.map((c) => <Head key={c.key} column={c} sort={sort} onSort={onSort} />)}</div></div>
        <div role="rowgroup" className="node-rows" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => (
            <div key={item.key} role="row" aria-rowindex={item.index + 2} className="node-row" style={{ transform: `translateY(${item.start}px)`, height: ROW_PX }}>
              <Cells fleet={fleet} at={rows[item.index]!} now={now} />
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}

function Head({ column: c, sort, onSort }: { column: (typeof COLUMNS)[number]; sort: string; onSort: (sort: string) => void }) {
  const { by, down } = sortOf(sort);
  const mine = by === c.key;
  const next = mine ? (down === Boolean(c.num) ? (down ? c.key : `-${c.key}`) : "") : c.num ? `-${c.key}` : c.key;
  const label = c.key === "used_memory" ? "Memory used" : c.key === "used_cores" ? "Cores used" : c.name;
  return (
    <div role="columnheader" className={`c-${c.key} ${c.num ? "num" : ""}`} aria-sort={mine ? (down ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => onSort(next)} aria-label={`Sort by ${label.toLowerCase()}`}>{c.name}{mine && (down ? <Down /> : <Up />)}</button>
    </div>
  );
}

function Cells({ fleet, at, now }: { fleet: Fleet; at: Row; now: number }) {
  const part = fleet.parts[at.part]!;
  const c = part.columns;
  const gpus = filled(fleet, part, at.row, "allocated", "gpus");
  const age = ageText(fleet, part, at.row, now);
  return (
    <>
      <div role="cell" className="c-name clip"><Link href={`/fleet/nodes/${part.ids[at.row]}`}>{part.names[at.row]}</Link></div>
      <div role="cell" className="c-state clip"><State state={standingOf(fleet, part, at.row)} /></div>
      <div role="cell" className="c-sub clip">{part.name}</div>
      <div role="cell" className="c-rack clip">{rackOf(part, at.row)?.name}</div>
      <div role="cell" className="c-memory num">{share(fleet, c.memory[at.row]!)}</div>
      <div role="cell" className="c-used_memory num muted">{share(fleet, c.used_memory[at.row]!)}</div>
      <div role="cell" className="c-cores num">{share(fleet, c.cores[at.row]!)}</div>
      <div role="cell" className="c-used_cores num muted">{share(fleet, c.used_cores[at.row]!)}</div>
      <div role="cell" className="c-gpus num">{share(fleet, gpus)}</div>
      <div role="cell" className="c-containers num">{c.containers[at.row]}</div>
      <div role="cell" className={`c-seen num ${age ? "warn" : "muted"}`}>{age || "now"}</div>
    </>
  );
}
