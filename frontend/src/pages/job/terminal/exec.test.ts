import { afterEach, describe, expect, it, vi } from "vitest";
import { hydractl } from "../../../format/shell";
import { ending, Exec, type Phase, type Wire } from "./exec";
import { costOf, credit, creditOf, DATA_MAX, frame, KIND, Outbox, resize, WINDOW, type Frame } from "./frames";
import { words } from "./words";

const text = (data: string) => new TextEncoder().encode(data);

describe("frames", () => {
  it("are written as the other end reads them", () => {
    expect([...resize(50, 300)]).toEqual([KIND.RESIZE, 0, 50, 1, 44]);
    expect(creditOf(credit(70_000))).toBe(70_000);
    expect([costOf(credit(1)), costOf(frame(KIND.STDIN, [1, 2]))]).toEqual([0, 67]);
  });
  it("wait until the other end has room, in their order", () => {
    const sent: Frame[] = [];
    const outbox = new Outbox((data) => sent.push(data));
    const pasted = Uint8Array.from({ length: 400_000 }, (_, i) => i % 251);
    outbox.input(pasted);
    outbox.say(resize(1, 2));
    const way = () => sent.reduce((sum, data) => sum + costOf(data), 0);
    expect(way()).toBeLessThanOrEqual(WINDOW);
    for (let taken = 0; taken < sent.length; taken++) outbox.credit(costOf(sent[taken]!));
    expect(sent.pop()).toEqual(resize(1, 2));
    expect(sent.every((data) => data[0] === KIND.STDIN && data.length <= DATA_MAX + 1)).toBe(true);
    const received = sent.flatMap((data) => Array.from(data.subarray(1)));
    expect([received.length, received.every((byte, i) => byte === pasted[i])]).toEqual([pasted.length, true]);
  });
});

/** One that web has let in, with what its listener and its socket have heard. */
async function begun(status = 201, body: unknown = { id: 7, container: "c-1-1-1", node: "west-1", socket: "/ws/v1/execs/7" }) {
  vi.stubGlobal("document", { cookie: "csrftoken=x" });
  vi.stubGlobal("fetch", async () => new Response(JSON.stringify(body), { status }));
  const sent: Frame[] = [];
  const phases: Phase[] = [];
  const shown: string[] = [];
  let taken = () => {};
  const wire: Wire = { send: (data) => sent.push(data), close: () => {}, onopen: null, onmessage: null, onclose: null };
  const listener = { phase: (phase: Phase) => phases.push(phase), wrote: (bytes: Uint8Array, done: () => void) => { shown.push(new TextDecoder().decode(bytes)); taken = done; } };
  const exec = new Exec(listener, () => wire);
  await exec.begin("c-1-1-1", ["sh"], 24, 80);
  const hear = (data: Frame) => wire.onmessage?.({ data: data.buffer });
  return { exec, wire, sent, phases, shown, hear, take: () => taken() };
}

describe("a terminal's command", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("says what becomes of it, and gives room for what was shown only", async () => {
    const { exec, wire, sent, phases, shown, hear, take } = await begun();
    wire.onopen?.();
    hear(frame(KIND.BEGUN));
    exec.input(text("ls\n"));
    hear(frame(KIND.STDOUT, text("a b\n")));
    const before = sent.length;
    take();
    expect([sent.length - before, creditOf(sent.at(-1)!)]).toEqual([1, costOf(frame(KIND.STDOUT, text("a b\n")))]);
    hear(frame(KIND.END, text('{"code": 3}')));
    wire.onclose?.();
    expect(phases.map((p) => p.state)).toEqual(["asking", "starting", "runs", "over"]);
    expect([phases.at(-1), shown]).toEqual([{ state: "over", well: false, why: "It has ended with status 3." }, ["a b\n"]]);
  });
  it("has the size that its terminal was given while it was asked for", async () => {
    const { exec, wire, sent } = await begun();
    exec.resize(40, 130);
    expect(sent).toEqual([]);
    wire.onopen?.();
    expect(sent).toEqual([resize(40, 130)]);
  });
  it("that is refused says why, and opens no socket", async () => {
    const { phases } = await begun(409, { title: "Conflict", detail: "c-1-1-1 has ended" });
    expect(phases.at(-1)).toEqual({ state: "over", well: false, why: "Conflict. c-1-1-1 has ended" });
  });
  it("whose socket never opens, or is lost, says so", async () => {
    const never = await begun();
    never.wire.onclose?.();
    const lost = await begun();
    lost.wire.onopen?.();
    lost.wire.onclose?.();
    expect([never, lost].map(({ phases }) => phases.at(-1)).map((p) => p?.state === "over" && p.why.slice(0, 30))).toEqual(["The server opened no connectio", "The connection to the server w"]);
  });
  it("ends in words", () => {
    const said = [ending({ code: 0 }, true), ending({ signal: 9 }, true), ending({ error: "the container has ended" }, true), ending({ error: "its node did not begin it in time" }, false)];
    expect(said.map((p) => p.state === "over" && p.why)).toEqual([
      "It has ended with status 0.", "It was ended by signal 9.", "It did not end by itself: the container has ended.", "It was not started: its node did not begin it in time.",
    ]);
  });
  it("is one word, or a line for the shell", () => {
    expect([words("bash"), words("python3 -q")]).toEqual([["bash"], ["sh", "-c", "python3 -q"]]);
    expect(hydractl("exec", "-it", "4/a/0", "--", ...words("exec bash -l"))).toBe("hydractl exec -it 4/a/0 -- sh -c 'exec bash -l'");
  });
});
