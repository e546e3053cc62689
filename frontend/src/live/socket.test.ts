import { beforeEach, describe, expect, it } from "vitest";
import { delayMs } from "./backoff";
import { CLOSE_NOT_SIGNED_IN, LiveSocket, type Clock, type Wire } from "./socket";

class FakeWire implements Wire {
  sent: unknown[] = [];
  closed = false;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.closed = true;
  }
  say(message: unknown) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

/** Time that moves only when told to. */
class HandClock implements Clock {
  private time = 0;
  private timers: { at: number; run: () => void }[] = [];
  now = () => this.time;
  random = () => 1;
  later(run: () => void, ms: number) {
    const timer = { at: this.time + ms, run };
    this.timers.push(timer);
    return () => void (this.timers = this.timers.filter((t) => t !== timer));
  }
  pass(ms: number) {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((t) => t !== next);
      this.time = next.at;
      next.run();
    }
    this.time = end;
  }
}

let wires: FakeWire[];
let clock: HandClock;
let socket: LiveSocket;
let snapshots: [string, unknown][];

beforeEach(() => {
  wires = [];
  clock = new HandClock();
  snapshots = [];
  socket = new LiveSocket(() => {
    const wire = new FakeWire();
    wires.push(wire);
    return wire;
  }, clock);
  socket.onSnapshot = (topic, snapshot) => snapshots.push([topic, snapshot]);
});

function latest(): FakeWire {
  return wires.at(-1)!;
}

describe("subscriptions", () => {
  it("are said when the socket opens, and once however many parts of a page follow a topic", () => {
    const release = [socket.subscribe("jobs"), socket.subscribe("jobs")];
    socket.start();
    latest().onopen?.();
    expect(latest().sent).toEqual([{ subscribe: ["jobs"] }]);
    release[0]!();
    expect(latest().sent).toHaveLength(1);
    release[1]!();
    expect(latest().sent.at(-1)).toEqual({ unsubscribe: ["jobs"] });
  });

  it("ask again after a gap", () => {
    socket.subscribe("jobs");
    socket.start();
    latest().onopen?.();
    latest().say({ topic: "jobs", seq: 1, snapshot: 1 });
    latest().say({ topic: "jobs", seq: 3, snapshot: 3 });
    expect(snapshots).toEqual([["jobs", 1], ["jobs", 3]]);
    expect(latest().sent.at(-1)).toEqual({ resync: ["jobs"] });
  });
});

it("asks again for what a pong shows to be missed, though nothing came after it", () => {
  socket.subscribe("jobs");
  socket.subscribe("queues");
  socket.start();
  latest().onopen?.();
  latest().say({ topic: "jobs", seq: 1, snapshot: 1 });
  latest().say({ topic: "queues", seq: 1, snapshot: 1 });
  latest().say({ pong: 1, seqs: { jobs: 2, queues: 1 } });
  expect(latest().sent.at(-1)).toEqual({ resync: ["jobs"] });
});

describe("a silent connection", () => {
  it("is noticed when nothing is heard, even without a close", () => {
    socket.start();
    latest().onopen?.();
    clock.pass(20_000);
    expect(wires[0]!.closed).toBe(true);
    expect(wires.length).toBeGreaterThan(1);
  });

  it("is not suspected while pongs come", () => {
    socket.start();
    latest().onopen?.();
    for (let i = 0; i < 10; i += 1) {
      clock.pass(5_000);
      latest().say({ pong: 1 });
    }
    expect(wires).toHaveLength(1);
    expect(socket.liveness()).toEqual({ state: "live" });
  });
});

describe("a lost connection", () => {
  it("is told with the time since which nothing is live, and made anew with everything subscribed", () => {
    socket.subscribe("jobs");
    socket.start();
    latest().onopen?.();
    clock.pass(1_000);
    latest().onclose?.({ code: 1006 });
    expect(socket.liveness()).toMatchObject({ state: "reconnecting", since: 1_000 });
    clock.pass(delayMs(0, 1));
    expect(wires).toHaveLength(2);
    latest().onclose?.({ code: 1006 });
    expect(socket.liveness()).toMatchObject({ since: 1_000, attempt: 1 });
    clock.pass(delayMs(1, 1));
    latest().onopen?.();
    expect(socket.liveness()).toEqual({ state: "live" });
    expect(latest().sent).toEqual([{ subscribe: ["jobs"] }]);
    latest().say({ topic: "jobs", seq: 1, snapshot: "new" });
    expect(snapshots.at(-1)).toEqual(["jobs", "new"]);
  });

  it("is tried at once when the network is back", () => {
    socket.start();
    latest().onclose?.({ code: 1006 });
    socket.retryNow();
    expect(wires).toHaveLength(2);
  });

  it("ends for good when the account is no longer signed in", () => {
    let out = false;
    socket.onSignedOut = () => void (out = true);
    socket.start();
    latest().onopen?.();
    latest().onclose?.({ code: CLOSE_NOT_SIGNED_IN });
    clock.pass(60_000);
    expect(out).toBe(true);
    expect(wires).toHaveLength(1);
  });

  it("says that it is not live then, and begins anew when it is told to", () => {
    socket.start();
    latest().onopen?.();
    latest().onclose?.({ code: CLOSE_NOT_SIGNED_IN });
    expect(socket.liveness()).toMatchObject({ state: "reconnecting", since: clock.now() });
    socket.start();
    latest().onopen?.();
    expect(wires).toHaveLength(2);
    expect(socket.liveness()).toEqual({ state: "live" });
  });
});

it("survives a message that is not JSON", () => {
  socket.start();
  latest().onopen?.();
  latest().onmessage?.({ data: "garbage" });
  expect(socket.liveness()).toEqual({ state: "live" });
});

it("backs off up to a cap, never at once", () => {
  expect(delayMs(0, 0)).toBe(250);
  expect(delayMs(3, 1)).toBe(4_000);
  expect(delayMs(50, 1)).toBe(15_000);
});
