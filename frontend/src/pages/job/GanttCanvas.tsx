/** The drawing of the attempts: only what is in view is painted, so thousands cost no more than a screenful. */
import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent, type RefObject } from "react";
import { duration } from "../../format/units";
import { useWidth } from "../../ui/width";
import { ticks } from "./timeline";
import { colourOf, hit, ROW, x, type Bar, type ColourBy, type Gantt, type Span } from "./gantt";

const AXIS = 20;
const HEIGHT = 360;
const NAMES = 110;

interface Props {
  g: Gantt;
  span: Span;
  by: ColourBy;
  label: string;
  picked: string | null;
  pick: (bar: Bar | null) => void;
  zoomAt: (factor: number, at: number) => void;
  panBy: (ms: number) => void;
}

export function GanttCanvas({ g, span, by, label, picked, pick, zoomAt, panBy }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; moved: boolean } | null>(null);
  const width = useWidth(box) || 800;
  const [top, setTop] = useState(0);
  const names = width < 500 ? 64 : NAMES;
  const room = Math.max(50, width - names);
  const height = Math.min(HEIGHT, g.rows.length * ROW) + AXIS;
  useEffect(() => {
    const c = canvas.current;
    if (c) paint(c, { g, span, by, picked, width, height, names, top });
  });
  useWheel(box, (factor, px) => zoomAt(factor, span.from + ((px - names) / room) * (span.to - span.from)));
  const under = (e: PointerEvent) => {
    const r = canvas.current?.getBoundingClientRect();
    if (!r) return undefined;
    return hit(g, span, room, e.clientX - r.left - names, Math.floor((e.clientY - r.top - AXIS + top) / ROW));
  };
  const perPx = (span.to - span.from) / room;
  const onMove = (e: PointerEvent) => {
    if (!drag.current) return pick(under(e) ?? null);
    const by_ = drag.current.x - e.clientX;
    if (Math.abs(by_) < 2) return;
    drag.current = { x: e.clientX, moved: true };
    panBy(by_ * perPx);
  };
  const onKey = (e: KeyboardEvent) => {
    const middle = (span.from + span.to) / 2;
    const step = (span.to - span.from) / 8;
    const act = { ArrowLeft: () => panBy(-step), ArrowRight: () => panBy(step), "+": () => zoomAt(0.5, middle), "=": () => zoomAt(0.5, middle), "-": () => zoomAt(2, middle) }[e.key];
    if (!act) return;
    act();
    e.preventDefault();
  };
  return (
    <div ref={box} className="gantt-box" tabIndex={0} role="group" aria-label={label} data-testid="gantt" data-bars={g.bars.length}
      style={{ height: height + 2 }} onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={onKey}>
      <canvas ref={canvas} className="gantt-canvas" role="img" aria-label={label}
        onPointerDown={(e) => { drag.current = { x: e.clientX, moved: false }; e.currentTarget.setPointerCapture(e.pointerId); }}
        onPointerUp={(e) => { if (!drag.current?.moved) pick(under(e) ?? null); drag.current = null; }} onPointerMove={onMove} onPointerCancel={() => { drag.current = null; }} />
      <div style={{ height: Math.max(0, g.rows.length * ROW + AXIS - height) }} />
    </div>
  );
}

/** Turning the wheel with a key held: by which factor to zoom, around how many pixels from the left. */
function useWheel(box: RefObject<HTMLElement | null>, zoom: (factor: number, px: number) => void): void {
  useEffect(() => { // React listens passively; a zoom must keep the page where it is
    const el = box.current;
    const onWheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      zoom(e.deltaY > 0 ? 1.25 : 0.8, e.clientX - el!.getBoundingClientRect().left);
    };
    el?.addEventListener("wheel", onWheel, { passive: false });
    return () => el?.removeEventListener("wheel", onWheel);
  });
}

interface Paint {
  g: Gantt;
  span: Span;
  by: ColourBy;
  picked: string | null;
  width: number;
  height: number;
  names: number;
  top: number;
}

function paint(canvas: HTMLCanvasElement, { g, span, by, picked, width, height, names, top }: Paint): void {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const c = canvas.getContext("2d");
  if (!c) return;
  const style = getComputedStyle(canvas);
  const colours = new Map<string, string>();
  const colour = (name: string) => {
    const known = colours.get(name) ?? style.getPropertyValue(name).trim();
    colours.set(name, known);
    return known;
  };
  const room = Math.max(50, width - names);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  axis(c, g, span, names, room, height, colour);
  c.save();
  c.beginPath();
  c.rect(0, AXIS, width, height - AXIS);
  c.clip();
  const [first, last] = [Math.floor(top / ROW), Math.ceil((top + height) / ROW)];
  c.fillStyle = colour("--muted");
  for (let row = first; row < Math.min(last, g.rows.length); row++) c.fillText(fit(c, g.rows[row] ?? "", names - 10), 4, AXIS + row * ROW - top + ROW / 2);
  for (const bar of g.bars) {
    if (bar.row < first || bar.row > last || bar.to < span.from || bar.from > span.to) continue;
    one(c, bar, { y: AXIS + bar.row * ROW - top + 2, span, names, room, fill: colour(colourOf(bar, by, g.subClusters)), ring: bar.attempt.id === picked ? colour("--text") : "" });
  }
  c.restore();
}

function one(c: CanvasRenderingContext2D, bar: Bar, { y, span, names, room, fill, ring }: { y: number; span: Span; names: number; room: number; fill: string; ring: string }): void {
  const clampX = (at: number) => names + Math.min(room, Math.max(0, x(at, span, room)));
  const [from, to] = [clampX(bar.from), clampX(bar.to)];
  const ran = Number.isNaN(bar.ran) ? to : clampX(bar.ran);
  c.fillStyle = fill;
  c.globalAlpha = 0.35; // from its place to its start: fetching files, starting
  c.fillRect(from, y + 3, Math.max(1, ran - from), ROW - 10);
  c.globalAlpha = 1;
  if (!Number.isNaN(bar.ran)) c.fillRect(ran, y, Math.max(2, to - ran), ROW - 4);
  if (ring) {
    c.strokeStyle = ring;
    c.lineWidth = 1.5;
    c.strokeRect(from - 1, y - 1, Math.max(3, to - from) + 2, ROW - 2);
  }
}

function axis(c: CanvasRenderingContext2D, g: Gantt, span: Span, names: number, room: number, height: number, colour: (n: string) => string): void {
  const start = span.from - g.from;
  const offsets = ticks(span.to - span.from, room < 400 ? 3 : 6);
  const step = offsets[1] ?? span.to - span.from;
  c.strokeStyle = colour("--line");
  c.fillStyle = colour("--muted");
  for (let o = Math.ceil(start / step) * step; o <= start + span.to - span.from; o += step) {
    const at = names + x(g.from + o, span, room);
    c.beginPath();
    c.moveTo(at, AXIS - 4);
    c.lineTo(at, height);
    c.stroke();
    if (at < names + room - 30) c.fillText(o === 0 ? "0" : duration(o).replace(".0", ""), at + 3, AXIS / 2 - 1);
  }
}

function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  if (c.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && c.measureText(`…${cut}`).width > width) cut = cut.slice(1);
  return `…${cut}`;
}
