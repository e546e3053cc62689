/** One sub-cluster's nodes on a canvas: a cell each, by rack. Arrow keys move; what is under the cursor is shown and spoken. */
import { useComputedColorScheme } from "@mantine/core";
import { memo, useEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { count } from "../../format/units";
import { useNow } from "../../ui/parts";
import { useWidth } from "../../ui/width";
import type { View } from "./filter";
import { cellAt, layout, moved, origin, runsOf, type Layout } from "./layout";
import { nodeText, staleAt } from "./look";
import type { Fleet, Part } from "./model";
import { coloursOf, paintAll, paintChanged, type Colours, type Scene } from "./paint";

/** Which nodes, and how they are looked at. */
export interface Shown {
  fleet: Fleet;
  part: Part;
  order: Uint32Array;
  pitch: number;
  view: View;
}

function Map({ fleet, part, order, pitch, view, onChoose }: Shown & { onChoose: (id: number) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const [at, setAt] = useState<number | null>(null);
  const [keyed, setKeyed] = useState(false);
  const l = useMemo(() => layout(runsOf(part.racks, order), Math.max(width, pitch), pitch), [part.racks, order, width, pitch]);
  usePainting(canvas, width, { fleet, part, order, layout: l, fill: view.fill, of: view.of });
  const row = at === null ? undefined : order[at];
  const stale = useMemo(() => order.reduce((n, r) => n + (staleAt(fleet, part, r) ? 1 : 0), 0), [fleet, part, order]);
  const point = (x: number, y: number) => { setKeyed(false); setAt(cellAt(l, x, y)); };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Enter" || e.key === " ") {
      const chosen = order[at ?? 0];
      if (chosen !== undefined) onChoose(part.ids[chosen]!);
    } else if (/^(Arrow|Home|End|Page)/.test(e.key)) {
      setKeyed(true);
      setAt(at === null ? 0 : moved(l, at, e.key));
    } else if (e.key === "Escape") setAt(null);
    else return;
    e.preventDefault();
  };
  return (
    <div ref={box} className="heat">
      <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="heat map of nodes" style={{ height: l.height }}
        aria-label={`Nodes of ${part.name}: ${count(order.length)} shown, ${count(stale)} stale. Arrow keys move between nodes, page keys between racks, Enter opens one. The table view lists the same nodes.`}
        onKeyDown={onKey} onBlur={() => setAt(null)} onMouseLeave={() => setAt(null)}
        onMouseMove={(e) => point(e.nativeEvent.offsetX, e.nativeEvent.offsetY)}
        onClick={(e) => {
          const i = cellAt(l, e.nativeEvent.offsetX, e.nativeEvent.offsetY);
          if (i !== null) onChoose(part.ids[order[i]!]!);
        }} />
      {row !== undefined && at !== null && at < l.n && <Tip fleet={fleet} part={part} row={row} at={at} l={l} width={width} />}
      <span className="sr" role="status">{keyed && row !== undefined ? nodeText(fleet, part, row, Date.now() + fleet.skewMs) : ""}</span>
    </div>
  );
}

/** Painted again only when its own sub-cluster or the way of looking changed. */
export const FleetMap = memo(Map, (a, b) => a.part === b.part && a.order === b.order && a.pitch === b.pitch && a.view.fill === b.view.fill && a.view.of === b.view.of);

function Tip({ fleet, part, row, at, l, width }: { fleet: Fleet; part: Part; row: number; at: number; l: Layout; width: number }) {
  const text = nodeText(fleet, part, row, useNow() + fleet.skewMs);
  const { x, y } = origin(l, at);
  const size = l.pitch - l.gap;
  const [head, ...rest] = text.split(": ");
  const half = Math.min(170, width / 2);
  return (
    <>
      <i className="heat-cursor" style={{ left: x - 2, top: y - 2, width: size + 4, height: size + 4 }} />
      <div className="tip" style={{ left: Math.min(Math.max(x, half), Math.max(half, width - half)), top: y }} aria-hidden="true"><b>{head}</b>{rest.join(": ").split(", ").map((line) => <span key={line}>{line}</span>)}</div>
    </>
  );
}

/** Paint everything when the way of looking changes, and after a step what it changed. */
function usePainting(canvas: RefObject<HTMLCanvasElement | null>, width: number, scene: Scene): void {
  const scheme = useComputedColorScheme();
  const painted = useRef<{ layout: Layout; key: string; step: number; since: number; colours: Colours; shown: Uint8Array } | null>(null);
  const key = `${scene.fill} ${scene.of} ${scheme} ${width} ${window.devicePixelRatio}`;
  useEffect(() => {
    const element = canvas.current;
    if (!element || !width) return;
    const last = painted.current;
    if (last && last.layout === scene.layout && last.key === key && last.since === scene.part.since) {
      paintChanged(element, scene, last.colours, last.shown, last.step);
      last.step = scene.part.step;
      return;
    }
    const colours = coloursOf(element);
    const shown = paintAll(element, width, scene, colours);
    tell(scene.part.name);
    painted.current = { layout: scene.layout, key, step: scene.part.step, since: scene.part.since, colours, shown };
  }, [canvas, width, scene.part, scene.layout, key]);
}

/** Say to the browser's timeline that this map is there. */
function tell(name: string): void {
  const mark = `fleet-painted:${name}`;
  performance.clearMarks(mark);
  performance.mark(mark);
}
