/** The one WebSocket of this tab: subscriptions, numbering, resync, reconnecting, and how live it all is. */
import { delayMs } from "./backoff";
import { add, receive, remove, restart, type ServerMessage, type TopicError, type Topics } from "./topics";

export type Liveness =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "reconnecting"; since: number; attempt: number };

/** The part of WebSocket that is used, so that tests can drive it. */
export interface Wire {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: string }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
}

export interface Clock {
  now(): number;
  later(run: () => void, ms: number): () => void;
  random(): number;
}

const PING_EVERY_MS = 5_000;
const SILENT_MS = 12_000; // no message at all for this long means the connection is dead
export const CLOSE_NOT_SIGNED_IN = 4401;

const systemClock: Clock = {
  now: () => Date.now(),
  later: (run, ms) => {
    const id = setTimeout(run, ms);
    return () => clearTimeout(id);
  },
  random: () => Math.random(),
};

export class LiveSocket {
  private topics: Topics = new Map();
  private uses = new Map<string, number>();
  private wire: Wire | null = null;
  private attempt = 0;
  private heardAt = 0;
  private lostAt: number | null = null;
  private cancel: (() => void)[] = [];
  private listeners = new Set<() => void>();
  private status: Liveness = { state: "connecting" };
  private stopped = true;
  onSnapshot: (topic: string, snapshot: unknown) => void = () => {};
  onStep: (topic: string, delta: unknown) => void = () => {};
  onSignedOut: () => void = () => {};

  constructor(
    private readonly connect: () => Wire,
    private readonly clock: Clock = systemClock,
  ) {}

  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.open();
  }

  /** Try at once instead of at the end of the wait: the network is back, or somebody asked. */
  retryNow(): void {
    if (this.stopped || this.status.state === "live") return;
    this.dropWire();
    this.open();
  }

  /** Follow a topic until the returned function is called; uses are counted. */
  subscribe(topic: string): () => void {
    const count = this.uses.get(topic) ?? 0;
    this.uses.set(topic, count + 1);
    if (count === 0) {
      this.topics = add(this.topics, topic);
      this.say({ subscribe: [topic] });
    }
    return () => this.release(topic);
  }

  liveness = (): Liveness => this.status;

  error(topic: string): TopicError | null {
    return this.topics.get(topic)?.error ?? null;
  }

  watch = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private release(topic: string): void {
    const count = (this.uses.get(topic) ?? 1) - 1;
    this.uses.set(topic, count);
    if (count > 0) return;
    this.uses.delete(topic);
    this.topics = remove(this.topics, topic);
    this.say({ unsubscribe: [topic] });
  }

  private open(): void {
    const wire = this.connect();
    this.wire = wire;
    wire.onopen = () => this.opened();
    wire.onmessage = (event) => this.take(event.data);
    wire.onclose = (event) => this.closed(event.code);
    this.timer(() => this.checkOpen(wire), SILENT_MS);
  }

  private opened(): void {
    this.heardAt = this.clock.now();
    this.attempt = 0;
    this.lostAt = null;
    this.topics = restart(this.topics);
    this.become({ state: "live" });
    if (this.topics.size) this.say({ subscribe: [...this.topics.keys()] });
    this.timer(() => this.beat(), PING_EVERY_MS);
  }

  private checkOpen(wire: Wire): void {
    if (this.wire === wire && this.status.state !== "live") this.closed(0);
  }

  private beat(): void {
    if (this.clock.now() - this.heardAt > SILENT_MS) return this.closed(0);
    this.say({ ping: this.clock.now() });
    this.timer(() => this.beat(), PING_EVERY_MS);
  }

  private take(text: string): void {
    this.heardAt = this.clock.now();
    let message: ServerMessage;
    try {
      message = JSON.parse(text) as ServerMessage;
    } catch {
      return; // not ours; the silence check ends a connection that says nothing else
    }
    const step = receive(this.topics, message);
    const errorsMoved = message.topic !== undefined && step.topics !== this.topics;
    this.topics = step.topics;
    if (step.resync.length) this.say({ resync: step.resync });
    if (step.changed && message.delta !== undefined) this.onStep(step.changed, message.delta);
    else if (step.changed) this.onSnapshot(step.changed, message.snapshot);
    if (errorsMoved) this.tell();
  }

  private closed(code: number): void {
    this.dropWire();
    if (this.stopped) return;
    this.lostAt ??= this.clock.now();
    this.stopped = code === CLOSE_NOT_SIGNED_IN;
    this.become({ state: "reconnecting", since: this.lostAt, attempt: this.attempt });
    if (this.stopped) return this.onSignedOut();
    this.timer(() => this.open(), delayMs(this.attempt++, this.clock.random()));
  }

  private dropWire(): void {
    for (const cancel of this.cancel.splice(0)) cancel();
    const wire = this.wire;
    this.wire = null;
    if (!wire) return;
    wire.onopen = wire.onmessage = wire.onclose = null;
    wire.close();
  }

  /** While not connected nothing is said: everything subscribed is said when it opens. */
  private say(message: unknown): void {
    if (this.wire && this.status.state === "live") this.wire.send(JSON.stringify(message));
  }

  private timer(run: () => void, ms: number): void {
    this.cancel.push(this.clock.later(run, ms));
  }

  private become(status: Liveness): void {
    this.status = status;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

export function browserWire(): Wire {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return new WebSocket(`${scheme}://${location.host}/ws/v1`) as unknown as Wire;
}
