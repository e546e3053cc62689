/** The tree, a row per queue; only the rows in sight are drawn. Arrow keys move, open and close as in any tree. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type KeyboardEvent } from "react";
import { coarse, count } from "../../format/units";
import { Warning } from "../../ui/icons";
import { Empty } from "../../ui/parts";
import { amount, QueueBar } from "./QueueBar";
import { isOpen, SEE_OWN, SEE_PATH, STOPPED, type QueueRow, type Scale } from "./tree";

const ROW_PX = 36;
const NARROW_PX = 58;

interface Props {
  rows: QueueRow[];
  all: number;
  scale: Scale;
  toggled: ReadonlySet<string>;
  searching: boolean;
  chosen: string;
  now: number;
  onToggle: (path: string) => void;
  onChoose: (path: string) => void;
}

export function TreeView({ rows, all, scale, toggled, searching, chosen, now, onToggle, onChoose }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const narrow = window.matchMedia("(max-width: 720px)").matches;
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => (narrow ? NARROW_PX : ROW_PX), overscan: 12, getItemKey: (i) => rows[i]?.path ?? i });
  const active = Math.max(0, rows.findIndex((row) => row.path === chosen));
  const focus = useRef(active);
  useEffect(() => { focus.current = Math.min(focus.current, Math.max(0, rows.length - 1)); }, [rows.length]);
  if (rows.length === 0) return <Empty title="No queue matches">{searching ? "Clear the search to see all of them." : "You have access to none. An operator can grant you one."}</Empty>;
  const go = (to: number) => {
    focus.current = Math.max(0, Math.min(rows.length - 1, to));
    virtual.scrollToIndex(focus.current);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${focus.current}"]`)?.focus());
  };
  const onKey = (e: KeyboardEvent) => {
    const i = Number((e.target as HTMLElement).closest("[data-row]")?.getAttribute("data-row") ?? focus.current);
    const row = rows[i];
    if (!row) return;
    const open = row.children.length > 0 && (searching || isOpen(row, all, toggled));
    const up = rows.findIndex((r) => r.at === row.parent);
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(i + 1), ArrowUp: () => go(i - 1), Home: () => go(0), End: () => go(rows.length - 1), PageDown: () => go(i + 15), PageUp: () => go(i - 15),
      ArrowRight: () => (open || !row.children.length ? go(i + 1) : onToggle(row.path)), ArrowLeft: () => (open && !searching ? onToggle(row.path) : up >= 0 && go(up)),
      Enter: () => onChoose(row.path), " ": () => onChoose(row.path),
    };
    const act = keys[e.key];
    if (!act) return;
    act();
    e.preventDefault();
  };
  return (
    <div className="qtree">
      <div className="qrow qhead" aria-hidden="true"><span>Queue</span><span>{scale === "all" ? "Held of all there is" : "Held of its guarantee"}</span><span className="num">Used</span><span className="num">Guaranteed</span><span className="num">Pending</span><span className="num">Jobs</span></div>
      <div ref={scroller} className="qscroll" role="treegrid" aria-label="Queues" aria-rowcount={rows.length} onKeyDown={onKey}>
        <div role="presentation" className="qspace" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]!;
            return <Row key={row.path} index={item.index} top={item.start} row={row} scale={scale} open={searching || isOpen(row, all, toggled)} chosen={row.path === chosen}
              tab={item.index === focus.current || rows.length === 1} now={now} onToggle={onToggle} onChoose={onChoose} onFocus={() => { focus.current = item.index; }} />;
          })}
        </div>
      </div>
    </div>
  );
}

interface RowProps { index: number; top: number; row: QueueRow; scale: Scale; open: boolean; chosen: boolean; tab: boolean; now: number; onToggle: (path: string) => void; onChoose: (path: string) => void; onFocus: () => void }

function Row({ index, top, row, scale, open, chosen, tab, now, onToggle, onChoose, onFocus }: RowProps) {
  const bare = row.see === SEE_PATH;
  const branch = row.children.length > 0;
  return (
    <div role="row" data-row={index} data-path={row.path} tabIndex={tab ? 0 : -1} className="qrow" aria-level={row.depth + 1} aria-rowindex={index + 1} aria-selected={chosen}
      aria-expanded={branch ? open : undefined} style={{ transform: `translateY(${top}px)` }} onFocus={onFocus} onClick={() => !bare && onChoose(row.path)}>
      <span role="gridcell" className="qname" style={{ paddingLeft: row.depth * 16 }}>
        {branch ? <span className="twist" data-open={open} aria-hidden="true" onClick={(e) => { e.stopPropagation(); onToggle(row.path); }} /> : <span className="twist none" aria-hidden="true" />}
        <span className="clip" title={row.path}>{row.name}</span>
        {(row.flags & STOPPED) !== 0 && <span className="tag">{row.live ? "draining" : "stopped"}</span>}
        {row.see === SEE_OWN && <span className="tag" title="Open to everybody: what is counted here are your own jobs">your part</span>}
        {row.starving && <Starves since={row.starving.since} now={now} lacks={amount(row.axis, row.starving.lacking[row.axis] ?? 0)} />}
      </span>
      {bare ? <span role="gridcell" className="muted small qbare">holds queues of yours</span> : <>
        <span role="gridcell" className="qcell-bar"><QueueBar row={row} scale={scale} /></span>
        <span role="gridcell" className="num">{amount(row.axis, row.used)}</span>
        <span role="gridcell" className="num muted">{amount(row.axis, row.guaranteed)}</span>
        <span role="gridcell" className="num">{row.pending > 0 ? amount(row.axis, row.pending) : "–"}</span>
        <span role="gridcell" className="num muted">{row.live ? `${count(row.running)} of ${count(row.live)}` : "–"}</span>
      </>}
    </div>
  );
}

function Starves({ since, now, lacks }: { since: number; now: number; lacks: string }) {
  const text = `Below its guarantee for ${coarse(now - since * 1000)}: ${lacks} that it wants are missing`;
  return <span className="starves" title={text}><Warning /><span className="sr">{text}</span><span aria-hidden="true"><span className="starves-word">starved </span>{coarse(now - since * 1000)}</span></span>;
}
