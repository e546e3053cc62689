/** One command on a terminal in a container: asked for by REST, then spoken with over a WebSocket of its own. */
import { ApiError, post } from "../../../api/client";
import type { ExecBegun } from "../../../api/types";
import { credit, creditOf, costOf, endOf, KIND, Outbox, resize, WINDOW, type End, type Frame } from "./frames";

const TERM = "xterm-256color";

export type Phase =
  | { state: "asking" }
  | { state: "starting" | "runs"; node: string }
  | { state: "over"; well: boolean; why: string };

/** The part of WebSocket that is used, so that tests can drive it. */
export interface Wire {
  send(data: Frame): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null;
  onclose: (() => void) | null;
}

/** Who hears of it. `wrote`: call `taken` once the bytes are shown; the command writes as fast as that. */
export interface Listener {
  wrote(bytes: Uint8Array, taken: () => void): void;
  phase(phase: Phase): void;
}

const LOST = "The connection to the server was lost, and the command was ended with it.";
const NOT_OPENED = "The server opened no connection: you may be signed out, or something on the way lets no WebSockets through.";

/** How it ended, as a sentence. */
export function ending(end: End, ran: boolean): Phase {
  if (end.error) return { state: "over", well: false, why: `It ${ran ? "did not end by itself" : "was not started"}: ${end.error}.` };
  if (end.signal) return { state: "over", well: false, why: `It was ended by signal ${end.signal}.` };
  return { state: "over", well: end.code === 0, why: `It has ended with status ${end.code}.` };
}

export class Exec {
  private wire: Wire | null = null;
  private over = false;
  private node = "";
  private ran = false;
  private readonly outbox = new Outbox((data) => this.wire?.send(data), 0); // it has room once there is a wire

  constructor(private readonly listener: Listener, private readonly connect: (path: string) => Wire = browserWire) {}

  async begin(container: string, command: string[], rows: number, columns: number): Promise<void> {
    this.listener.phase({ state: "asking" });
    try {
      const begun = await post<ExecBegun>(`/containers/${container}/exec`, { command, tty: true, rows, columns, term: TERM });
      if (!this.over) this.open(begun);
    } catch (cause) {
      const error = cause instanceof ApiError ? cause : new ApiError(0, String(cause), "");
      this.finish({ state: "over", well: false, why: [`${error.title}.`, error.detail, ...error.errors.map((e) => `${e.field}: ${e.message}`)].filter(Boolean).join(" ") });
    }
  }

  input(bytes: Uint8Array): void {
    if (!this.over) this.outbox.input(bytes);
  }

  resize(rows: number, columns: number): void {
    if (!this.over) this.outbox.say(resize(rows, columns));
  }

  /** End it, and hear nothing more. */
  leave(): void {
    this.over = true;
    this.wire?.close();
  }

  private open(begun: ExecBegun): void {
    this.node = begun.node;
    const wire = this.connect(begun.socket);
    let opened = false;
    wire.onopen = () => {
      opened = true;
      this.wire = wire;
      if (this.over) return wire.close();
      this.listener.phase({ state: "starting", node: this.node });
      this.outbox.credit(WINDOW);
    };
    wire.onmessage = (event) => this.heard(new Uint8Array(event.data));
    wire.onclose = () => this.finish({ state: "over", well: false, why: opened ? LOST : NOT_OPENED });
  }

  private heard(data: Frame): void {
    if (this.over) return;
    switch (data[0]) {
      case KIND.BEGUN:
        this.ran = true;
        this.wire?.send(credit(costOf(data)));
        return this.listener.phase({ state: "runs", node: this.node });
      case KIND.STDOUT:
      case KIND.STDERR:
        return this.listener.wrote(data.subarray(1), () => { if (!this.over) this.wire?.send(credit(costOf(data))); });
      case KIND.CREDIT:
        return this.outbox.credit(creditOf(data));
      case KIND.END:
        return this.finish(ending(endOf(data), this.ran));
    }
  }

  private finish(phase: Phase): void {
    if (this.over) return;
    this.leave();
    this.listener.phase(phase);
  }
}

function browserWire(path: string): Wire {
  const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
  socket.binaryType = "arraybuffer";
  return socket as unknown as Wire;
}
