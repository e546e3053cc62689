/** Cells on a canvas. A step paints the cells it changed and no others. */
import { CLOSED, filled, staleAt, standingOf, type Fill, type Measure } from "./look";
import { origin, type Layout } from "./layout";
import type { Fleet, Part } from "./model";

const LEVELS = 20;
const MARK = 32;
const NOTHING = 255;

export interface Colours {
  /** From empty to full, `LEVELS` + 1 of them. */
  ramp: string[];
  none: string;
  hatch: string;
  failed: string;
  closed: string;
  surface: string;
  text: string;
  font: string;
}

export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const [from, to] = [rgb(read("--heat-0")), rgb(read("--heat-1"))];
  const ramp = Array.from({ length: LEVELS + 1 }, (_, at) => mix(from, to, at / LEVELS));
  return {
    ramp, none: read("--line"), hatch: read("--st-lost"), failed: read("--st-failed"), closed: read("--st-stopping"),
    surface: read("--surface"), text: read("--muted"), font: style.fontFamily,
  };
}

function rgb(hex: string): [number, number, number] {
  const n = Number.parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

function mix(a: [number, number, number], b: [number, number, number], part: number): string {
  return `rgb(${a.map((v, i) => Math.round(v + (b[i]! - v) * part)).join(" ")})`;
}

/** 0 to `LEVELS`; nothing is 0, and only all there is is the last. -1: there is none of it. */
export function level(parts: number, whole: number): number {
  if (parts <= 0) return parts < 0 ? -1 : 0;
  return parts >= whole ? LEVELS : Math.max(1, Math.min(LEVELS - 1, Math.ceil((parts * LEVELS) / whole)));
}

export interface Scene {
  fleet: Fleet;
  part: Part;
  order: Uint32Array;
  layout: Layout;
  fill: Fill;
  of: Measure;
}

/** Size the canvas and paint every cell; what each of them shows now, by position. */
export function paintAll(canvas: HTMLCanvasElement, width: number, scene: Scene, colours: Colours): Uint8Array {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(scene.layout.height * ratio);
  const shown = new Uint8Array(scene.layout.n).fill(NOTHING);
  const ctx = canvas.getContext("2d");
  if (!ctx) return shown;
  ctx.scale(ratio, ratio);
  names(ctx, scene, colours, width);
  cells(ctx, scene, colours, shown, null);
  return shown;
}

/** Paint the cells that changed after a step and look different now. */
export function paintChanged(canvas: HTMLCanvasElement, scene: Scene, colours: Colours, shown: Uint8Array, after: number): void {
  const ctx = canvas.getContext("2d");
  if (ctx) cells(ctx, scene, colours, shown, after);
}

/** What a cell looks like, as a number: its level and the mark on it. */
export function looks(s: Scene, row: number): number {
  const to = level(filled(s.fleet, s.part, row, s.fill, s.of), s.fleet.whole) + 1;
  const standing = standingOf(s.fleet, s.part, row);
  if (staleAt(s.fleet, s.part, row)) return to + MARK;
  return standing === "UP" ? to : to + MARK * (CLOSED.has(standing) ? 2 : 3);
}

function names(ctx: CanvasRenderingContext2D, { layout: l }: Scene, colours: Colours, width: number): void {
  if (!l.label) return;
  ctx.fillStyle = colours.text;
  ctx.font = `11px ${colours.font}`;
  ctx.textBaseline = "alphabetic";
  l.blocks.forEach((b, i) => {
    const next = l.blocks[i + 1];
    const room = (next && next.y === b.y ? next.x : width) - b.x - 4;
    ctx.save();
    ctx.beginPath();
    ctx.rect(b.x, b.y - l.label, room, l.label);
    ctx.clip();
    ctx.fillText(b.name, b.x, b.y - 4);
    ctx.restore();
  });
}

/** Cells of one colour are painted together: changing the colour is what costs. */
function cells(ctx: CanvasRenderingContext2D, s: Scene, colours: Colours, shown: Uint8Array, after: number | null): void {
  const { layout: l, order, part } = s;
  const size = l.pitch - l.gap;
  const byLevel: number[][] = Array.from({ length: LEVELS + 2 }, () => []);
  const marked: number[] = [];
  for (const b of l.blocks) {
    for (let i = 0; i < b.count; i += 1) {
      const row = order[b.from + i]!;
      if (after !== null && part.changed[row]! <= after) continue;
      const look = looks(s, row);
      if (shown[b.from + i] === look) continue;
      shown[b.from + i] = look;
      byLevel[look % MARK]!.push(b.x + (i % b.columns) * l.pitch, b.y + Math.floor(i / b.columns) * l.pitch);
      if (look >= MARK) marked.push(b.from + i);
    }
  }
  byLevel.forEach((found, at) => {
    ctx.fillStyle = at === 0 ? colours.none : colours.ramp[at - 1]!;
    for (let i = 0; i < found.length; i += 2) ctx.fillRect(found[i]!, found[i + 1]!, size, size);
    if (at > 0 || !found.length) return;
    ctx.fillStyle = colours.surface; // nothing of it there: a frame only
    for (let i = 0; i < found.length; i += 2) ctx.fillRect(found[i]! + 1, found[i + 1]! + 1, size - 2, size - 2);
  });
  const hatch = marked.length ? hatched(ctx, colours.hatch, size) : null;
  for (const at of marked) mark(ctx, s, colours, at, size, hatch);
}

function mark(ctx: CanvasRenderingContext2D, s: Scene, colours: Colours, at: number, size: number, hatch: CanvasPattern | null): void {
  const row = s.order[at]!;
  const { x, y } = origin(s.layout, at);
  if (staleAt(s.fleet, s.part, row)) {
    ctx.globalAlpha = 0.5; // old numbers are paler
    ctx.fillStyle = colours.surface;
    ctx.fillRect(x, y, size, size);
    ctx.globalAlpha = 1;
    ctx.fillStyle = hatch ?? colours.hatch;
    ctx.fillRect(x, y, size, size);
    return;
  }
  ctx.fillStyle = CLOSED.has(standingOf(s.fleet, s.part, row)) ? colours.closed : colours.failed;
  ctx.beginPath();
  ctx.moveTo(x + size, y);
  ctx.lineTo(x + size, y + size * 0.6);
  ctx.lineTo(x + size * 0.4, y);
  ctx.fill();
}

/** Diagonal lines in device pixels, closer together in small cells. */
function hatched(ctx: CanvasRenderingContext2D, colour: string, size: number): CanvasPattern | null {
  const tile = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  const step = Math.max(3, Math.round((size <= 6 ? 3 : 6) * ratio));
  tile.width = tile.height = step;
  const t = tile.getContext("2d");
  if (!t) return null;
  t.strokeStyle = colour;
  t.lineWidth = size <= 6 ? 1 : 1.6 * ratio;
  t.beginPath();
  for (const d of [-step, 0, step]) {
    t.moveTo(d, step);
    t.lineTo(d + step, 0);
  }
  t.stroke();
  const pattern = ctx.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}
