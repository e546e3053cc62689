/** What travels on an exec's socket, as `wire/execs.py` says it: a byte that names the kind, and a payload. */
export const KIND = { STDIN: 0, STDOUT: 1, STDERR: 2, END: 3, RESIZE: 4, CREDIT: 5, START: 6, BEGUN: 7 } as const;
export const DATA_MAX = 65_536;
export const WINDOW = 262_144;
export const OVERHEAD = 64;

export type Frame = Uint8Array<ArrayBuffer>;

/** How a command ended: by itself, by a signal, or for a reason in words. */
export interface End {
  code?: number;
  signal?: number;
  error?: string;
}

export function frame(kind: number, payload: ArrayLike<number> = []): Frame {
  const made = new Uint8Array(1 + payload.length);
  made[0] = kind;
  made.set(payload, 1);
  return made;
}

export function resize(rows: number, columns: number): Frame {
  const made = frame(KIND.RESIZE, new Uint8Array(4));
  const view = new DataView(made.buffer);
  view.setUint16(1, rows);
  view.setUint16(3, columns);
  return made;
}

export function credit(cost: number): Frame {
  const made = frame(KIND.CREDIT, new Uint8Array(4));
  new DataView(made.buffer).setUint32(1, cost);
  return made;
}

export function creditOf(data: Frame): number {
  return new DataView(data.buffer, data.byteOffset).getUint32(1);
}

export function endOf(data: Frame): End {
  return JSON.parse(new TextDecoder().decode(data.subarray(1))) as End;
}

/** What a frame takes of its direction's window. */
export function costOf(data: Frame): number {
  return data[0] === KIND.CREDIT ? 0 : data.length + OVERHEAD;
}

/** Frames for the other end, which has room for so much at a time; the rest waits here, in its order. */
export class Outbox {
  private readonly waiting: Frame[] = [];

  constructor(private readonly send: (data: Frame) => void, private room = WINDOW) {}

  /** Input, in frames of the length that there may be. */
  input(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += DATA_MAX) this.waiting.push(frame(KIND.STDIN, bytes.subarray(at, at + DATA_MAX)));
    this.flush();
  }

  say(data: Frame): void {
    this.waiting.push(data);
    this.flush();
  }

  /** The other end has taken so much. */
  credit(cost: number): void {
    this.room += cost;
    this.flush();
  }

  private flush(): void {
    for (let next = this.waiting[0]; next && costOf(next) <= this.room; next = this.waiting[0]) {
      this.waiting.shift();
      this.room -= costOf(next);
      this.send(next);
    }
  }
}
