/** The fleet as the server tells it: columns of small numbers per sub-cluster, whole at first and then in steps. */

const KINDS = { standing: 1, held: 1, memory: 1, cores: 1, gpus: 1, used_memory: 1, used_cores: 1, containers: 2, silent: 4 } as const;

export type ColumnName = keyof typeof KINDS;
export type Columns = Record<ColumnName, Uint8Array | Uint16Array | Uint32Array>;

export interface Kind {
  labels: Record<string, string>;
  capacity: { memory_mib: number; vcores_milli: number; gpus: number };
}

export interface Rack {
  name: string;
  from: number;
  count: number;
}

/** One sub-cluster. Arrays are parallel, in order of rack and name. A new object with every change; columns are changed in place. */
export interface Part {
  name: string;
  state: string;
  ids: Float64Array;
  names: string[];
  racks: Rack[];
  kinds: Kind[];
  kind: Uint32Array;
  columns: Columns;
  /** The step at which each node's numbers last changed, and the one at which its nodes became others. */
  changed: Uint32Array;
  since: number;
  step: number;
}

export interface Fleet {
  step: number;
  /** Unix seconds. */
  at: number;
  /** The server's clock less this browser's, in ms. */
  skewMs: number;
  /** Shares in the columns are parts of this. */
  whole: number;
  standings: string[];
  parts: Part[];
  nodes: number;
  /** Only the account's own containers are counted. */
  own: boolean;
}

export interface ToldPart {
  name: string;
  state: string;
  ids?: number[];
  names?: string[];
  racks?: (string | number)[];
  kinds?: Kind[];
  kind?: number[];
  /** Which nodes `columns` are about; without it: all. */
  rows?: string;
  columns?: Record<ColumnName, string>;
}

export interface Told {
  at: number;
  whole: number;
  standings: string[];
  own?: boolean;
  sub_clusters: ToldPart[];
}

/** A fleet after a message; `before` is null, or what the message is a step from. Null: they do not fit together. */
export function take(before: Fleet | null, told: Told, nowMs = Date.now()): Fleet | null {
  const step = (before?.step ?? 0) + 1;
  const known = new Map(before?.parts.map((part) => [part.name, part]));
  const parts: Part[] = [];
  for (const t of told.sub_clusters) {
    const old = known.get(t.name);
    if (!t.names && !old) return null;
    parts.push(t.names ? whole(t, step) : moved(old!, t, step));
  }
  return { step, at: told.at, skewMs: told.at * 1000 - nowMs, whole: told.whole, standings: told.standings, own: told.own ?? false, parts, nodes: parts.reduce((n, p) => n + p.names.length, 0) };
}

function whole(t: ToldPart, step: number): Part {
  const names = t.names ?? [];
  const ids = new Float64Array(names.length);
  let id = 0;
  (t.ids ?? []).forEach((more, at) => { id += more; ids[at] = id; });
  const racks: Rack[] = [];
  let from = 0;
  for (let at = 0; at < (t.racks ?? []).length; at += 2) {
    const count = Number(t.racks![at + 1]);
    racks.push({ name: String(t.racks![at]), from, count });
    from += count;
  }
  const kind = new Uint32Array(names.length);
  from = 0;
  for (let at = 0; at < (t.kind ?? []).length; at += 2) {
    kind.fill(t.kind![at]!, from, from + t.kind![at + 1]!);
    from += t.kind![at + 1]!;
  }
  return { name: t.name, state: t.state, ids, names, racks, kinds: t.kinds ?? [], kind, columns: columnsOf(t.columns!), changed: new Uint32Array(names.length).fill(step), since: step, step };
}

function moved(old: Part, t: ToldPart, step: number): Part {
  if (!t.columns) return old.state === t.state ? old : { ...old, state: t.state };
  const columns = columnsOf(t.columns);
  if (t.rows === undefined) {
    const changed = new Uint32Array(old.names.length).fill(step);
    return { ...old, state: t.state, columns, changed, step };
  }
  const rows = numbers(t.rows, 4);
  for (const name of Object.keys(KINDS) as ColumnName[]) {
    const to = old.columns[name];
    const from = columns[name];
    for (let at = 0; at < rows.length; at += 1) to[rows[at]!] = from[at]!;
  }
  for (const row of rows) old.changed[row] = step;
  return { ...old, state: t.state, step };
}

function columnsOf(told: Record<ColumnName, string>): Columns {
  const found = {} as Columns;
  for (const name of Object.keys(KINDS) as ColumnName[]) found[name] = numbers(told[name], KINDS[name]);
  return found;
}

/** Little-endian unsigned integers of so many bytes. Every machine a browser runs on is little-endian. */
export function numbers(base64: string, bytes: 1 | 2 | 4): Uint8Array | Uint16Array | Uint32Array {
  const text = atob(base64);
  const raw = new Uint8Array(text.length);
  for (let at = 0; at < raw.length; at += 1) raw[at] = text.charCodeAt(at);
  return bytes === 1 ? raw : bytes === 2 ? new Uint16Array(raw.buffer) : new Uint32Array(raw.buffer);
}

/** The name of the rack a node is in. */
export function rackOf(part: Part, row: number): Rack | undefined {
  let [low, high] = [0, part.racks.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (part.racks[middle]!.from <= row) low = middle;
    else high = middle - 1;
  }
  return part.racks[low];
}

export function find(fleet: Fleet, id: number): { part: Part; row: number } | null {
  for (const part of fleet.parts) {
    const row = part.ids.indexOf(id);
    if (row >= 0) return { part, row };
  }
  return null;
}
