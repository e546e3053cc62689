/** Geometry of the map: racks are blocks of cells, set side by side on shelves. Pixels are CSS pixels. */

/** Nodes that stand together: a rack's wanted rows are `order[from .. from + count - 1]`. */
export interface Run {
  name: string;
  from: number;
  count: number;
}

export interface Block extends Run {
  x: number;
  y: number;
  columns: number;
  rows: number;
}

export interface Layout {
  /** A cell with its gap, and the gap. */
  pitch: number;
  gap: number;
  height: number;
  /** Height of a rack's name above its cells; 0: too small to write. */
  label: number;
  blocks: Block[];
  n: number;
}

const PITCHES = [24, 20, 16, 13, 11, 9, 7, 6, 5, 4];
const LABEL_FROM = 9;

/** The largest cells with which `n` nodes fit into about `area` square pixels. */
export function pitchFor(n: number, area: number): number {
  return PITCHES.find((pitch) => n * pitch * pitch * 1.35 <= area) ?? PITCHES.at(-1)!;
}

export function runsOf(racks: Run[], order: Uint32Array): Run[] {
  const runs: Run[] = [];
  let at = 0;
  for (const rack of racks) {
    const from = at;
    while (at < order.length && order[at]! < rack.from + rack.count) at += 1;
    if (at > from) runs.push({ name: rack.name, from, count: at - from });
  }
  return runs;
}

export function layout(runs: Run[], width: number, pitch: number): Layout {
  const gap = pitch > 12 ? 3 : 1;
  const label = pitch >= LABEL_FROM ? 15 : 0;
  const between = Math.max(4, gap * 3);
  const n = runs.reduce((sum, run) => sum + run.count, 0);
  const most = Math.max(1, Math.floor(width / pitch));
  const usual = Math.min(12, Math.max(1, Math.round(Math.sqrt(n / Math.max(1, runs.length) / 2.5))));
  const blocks: Block[] = [];
  let [x, y, shelf] = [0, 0, 0];
  for (const run of runs) {
    const columns = Math.min(most, Math.max(Math.ceil(run.count / usual), 1));
    const rows = Math.ceil(run.count / columns);
    const wide = Math.max(columns * pitch, label ? Math.min(width, 7 * Math.min(run.name.length, 12)) : 0);
    if (x > 0 && x + wide > width) {
      y += shelf + between;
      [x, shelf] = [0, 0];
    }
    blocks.push({ ...run, x, y: y + label, columns, rows });
    x += wide + between;
    shelf = Math.max(shelf, label + rows * pitch);
  }
  return { pitch, gap, label, blocks, n, height: Math.max(pitch, y + shelf) };
}

/** The block a position is in. Blocks are in order of positions. */
function blockOf(l: Layout, at: number): Block | undefined {
  let [low, high] = [0, l.blocks.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (l.blocks[middle]!.from <= at) low = middle;
    else high = middle - 1;
  }
  return l.blocks[low];
}

export function origin(l: Layout, at: number): { x: number; y: number } {
  const b = blockOf(l, at);
  if (!b) return { x: 0, y: 0 };
  const i = at - b.from;
  return { x: b.x + (i % b.columns) * l.pitch, y: b.y + Math.floor(i / b.columns) * l.pitch };
}

/** The position whose cell lies at a point. */
export function cellAt(l: Layout, x: number, y: number): number | null {
  for (const b of l.blocks) {
    const column = Math.floor((x - b.x) / l.pitch);
    const row = Math.floor((y - b.y) / l.pitch);
    if (column < 0 || row < 0 || column >= b.columns || row >= b.rows) continue;
    const i = row * b.columns + column;
    if (i < b.count) return b.from + i;
  }
  return null;
}

/** Where a key leads: arrows to the neighbouring cell, across racks; page keys to the rack before or after. */
export function moved(l: Layout, from: number, key: string): number {
  const at = Math.min(Math.max(from, 0), l.n - 1);
  if (key === "Home") return 0;
  if (key === "End") return l.n - 1;
  if (key === "ArrowLeft") return Math.max(0, at - 1);
  if (key === "ArrowRight") return Math.min(l.n - 1, at + 1);
  const here = l.blocks.indexOf(blockOf(l, at)!);
  if (key === "PageUp") return l.blocks[Math.max(0, here - 1)]!.from;
  if (key === "PageDown") return l.blocks[Math.min(l.blocks.length - 1, here + 1)]!.from;
  return vertical(l, at, l.blocks[here]!, key === "ArrowUp" ? -1 : 1);
}

function vertical(l: Layout, at: number, b: Block, way: 1 | -1): number {
  const i = at - b.from;
  const within = i + way * b.columns;
  if (within >= 0 && within < b.count) return b.from + within;
  const { x } = origin(l, at);
  const shelves = l.blocks.filter((o) => (way > 0 ? o.y > b.y : o.y < b.y));
  if (!shelves.length) return at;
  const next = way > 0 ? Math.min(...shelves.map((o) => o.y)) : Math.max(...shelves.map((o) => o.y));
  const nearest = shelves.filter((o) => o.y === next).sort((p, q) => off(p, l, x) - off(q, l, x))[0]!;
  const column = Math.min(nearest.columns - 1, Math.max(0, Math.round((x - nearest.x) / l.pitch)));
  const row = way > 0 ? 0 : Math.floor((nearest.count - 1 - column) / nearest.columns);
  return nearest.from + Math.min(nearest.count - 1, Math.max(0, row) * nearest.columns + column);
}

function off(b: Block, l: Layout, x: number): number {
  return Math.max(0, b.x - x, x - (b.x + (b.columns - 1) * l.pitch));
}
