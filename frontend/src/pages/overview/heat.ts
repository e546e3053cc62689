/** Geometry of the heat map: where a node's cell lies, and which cell lies at a point. Pixels are CSS pixels. */

export interface Layout {
  columns: number;
  rows: number;
  /** Cell with its gap. */
  pitch: number;
  gap: number;
}

/** Cells as large as fit `width` without the map growing beyond `maxHeight`, between 7 and 22 pixels. */
export function layout(n: number, width: number, maxHeight = 360): Layout {
  for (let pitch = 22; pitch > 7; pitch -= 1) {
    const columns = Math.max(1, Math.floor(width / pitch));
    const rows = Math.ceil(n / columns);
    if (rows * pitch <= maxHeight) return { columns, rows, pitch, gap: pitch > 12 ? 3 : 1 };
  }
  const columns = Math.max(1, Math.floor(width / 7));
  return { columns, rows: Math.ceil(n / columns), pitch: 7, gap: 1 };
}

export function cellAt(l: Layout, n: number, x: number, y: number): number | null {
  const column = Math.floor(x / l.pitch);
  const index = Math.floor(y / l.pitch) * l.columns + column;
  return column >= 0 && column < l.columns && index >= 0 && index < n ? index : null;
}

export function origin(l: Layout, index: number): { x: number; y: number } {
  return { x: (index % l.columns) * l.pitch, y: Math.floor(index / l.columns) * l.pitch };
}

/** The cell the arrow key leads to; the same one at an edge. */
export function moved(l: Layout, n: number, from: number, key: string): number {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -l.columns, ArrowDown: l.columns }[key] ?? 0;
  if (key === "Home") return 0;
  if (key === "End") return n - 1;
  const to = from + step;
  return to >= 0 && to < n ? to : from;
}
