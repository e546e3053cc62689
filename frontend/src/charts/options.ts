/** What uPlot is told: axes, lines, marks. Colours come from the page's tokens. */
import uPlot from "uplot";
import { badges, BADGE, EVENT_COLORS } from "./badges";
import { latest, timeOfDay, type Line, type SeriesEvent } from "./series";

export interface Marks {
  events: SeriesEvent[];
  /** The chosen moment, seconds since 1970. */
  chosen: number | null;
}

export interface OptionsFor {
  width: number;
  height: number;
  lines: Line[];
  span: { from: number; to: number };
  sync: string;
  format: (value: number) => string;
  marks: () => Marks;
  onZoom: (from: number, to: number) => void;
  onChoose: (t: number) => void;
}

export function token(element: Element, name: string): string {
  return getComputedStyle(element).getPropertyValue(`--${name}`).trim() || "#888888";
}

function translucent(color: string, alpha: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? color + alpha : color;
}

function drawMarks(u: uPlot, element: Element, marks: Marks): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.font = `600 ${9 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  const found = marks.events
    .map(({ at, kind }) => ({ kind, x: Math.round(u.valToPos(Date.parse(at) / 1000, "x", true)) }))
    .filter(({ x }) => x >= bbox.left && x <= bbox.left + bbox.width)
    .sort((a, b) => a.x - b.x);
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  for (const { x, kind } of found) {
    ctx.strokeStyle = token(element, EVENT_COLORS[kind] ?? "muted");
    line(ctx, x, bbox.top, bbox.top + bbox.height);
  }
  for (const { x, text, color } of badges(found, 2 * BADGE * ratio)) {
    ctx.fillStyle = token(element, color);
    ctx.beginPath();
    ctx.arc(x, bbox.top - BADGE * ratio, BADGE * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.fillStyle = token(element, "surface");
    ctx.fillText(text, x, bbox.top - (BADGE - 0.5) * ratio);
  }
  if (marks.chosen !== null) {
    const x = Math.round(u.valToPos(marks.chosen, "x", true));
    if (x >= bbox.left && x <= bbox.left + bbox.width) {
      ctx.strokeStyle = token(element, "text");
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash([]);
      line(ctx, x, bbox.top, bbox.top + bbox.height);
    }
  }
  ctx.restore();
}

function line(ctx: CanvasRenderingContext2D, x: number, top: number, bottom: number): void {
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, bottom);
  ctx.stroke();
}

function seriesOf(element: Element, line: Line, format: (value: number) => string): uPlot.Series {
  const stroke = token(element, line.color);
  return {
    label: line.label,
    stroke,
    width: 1.5,
    points: { show: true, size: 5, fill: stroke, filter: (u, i) => alone(u.data[i] ?? []) },
    spanGaps: false,
    value: (u, v, i, at) => {
      const shown = at === null ? latest(u.data[i] ?? []) : v;
      return shown === null || shown === undefined ? "–" : format(shown);
    },
    ...(line.fill ? { fill: translucent(stroke, "2e") } : {}),
    ...(line.dash ? { dash: line.dash } : {}),
    ...(line.bars && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.9, 24] }), fill: translucent(stroke, "99") } : {}),
  };
}

/** Values between two gaps, which no line would show. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const there = (i: number) => values[i] !== null && values[i] !== undefined;
  return Array.from({ length: values.length }, (_, i) => i).filter((i) => there(i) && !there(i - 1) && !there(i + 1));
}

function markerDash(line: Line | undefined): string {
  return !line?.dash ? "solid" : (line.dash[0] ?? 0) < 4 ? "dotted" : "dashed";
}

export function options(element: Element, o: OptionsFor): uPlot.Options {
  const grid = { stroke: token(element, "line"), width: 1 };
  const axis = { stroke: token(element, "muted"), grid, ticks: { ...grid, size: 4 }, font: "11px system-ui, sans-serif" };
  return {
    width: o.width,
    height: o.height,
    padding: [16, 12, 0, 0],
    cursor: { sync: { key: o.sync, setSeries: false }, drag: { x: true, y: false, setScale: false }, y: false, points: { size: 6 } },
    legend: { live: true, markers: { dash: (_u, i) => markerDash(o.lines[i - 1]) } },
    scales: { x: { time: true, range: () => [o.span.from, o.span.to] }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      { ...axis, values: clockTicks, space: 64, size: 26 },
      { ...axis, size: 58, values: (_u, splits) => splits.map((v) => o.format(v)) },
    ] as uPlot.Axis[],
    series: [{ label: "Time", value: "{DD} {MMM}, {HH}:{mm}:{ss}" }, ...o.lines.map((l) => seriesOf(element, l, o.format))],
    hooks: {
      draw: [(u) => drawMarks(u, element, o.marks())],
      setSelect: [
        (u) => {
          if (u.select.width < 4) return;
          const [from, to] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          o.onZoom(Math.floor(from), Math.ceil(to));
        },
      ],
      ready: [(u) => watchClicks(u, o.onChoose)],
    },
  };
}

/** A press that does not drag chooses its moment. */
function watchClicks(u: uPlot, choose: (t: number) => void): void {
  let downAt = 0;
  u.over.addEventListener("mousedown", (e) => { downAt = e.clientX; });
  u.over.addEventListener("click", (e) => {
    if (Math.abs(e.clientX - downAt) > 3) return;
    choose(Math.round(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, "x")));
  });
}

function clockTicks(_u: uPlot, splits: number[]): string[] {
  const step = splits.length > 1 ? (splits[1] as number) - (splits[0] as number) : 60;
  return splits.map((t) => {
    const d = new Date(t * 1000);
    const day = `${d.getDate()} ${d.toLocaleDateString("en-GB", { month: "short" })}`;
    if (step >= 86_400 || (d.getHours() === 0 && d.getMinutes() === 0 && d.getSeconds() === 0)) return day;
    return timeOfDay(d, step);
  });
}
