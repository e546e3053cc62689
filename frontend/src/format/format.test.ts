import { describe, expect, it } from "vitest";
import type { Group } from "../api/types";
import { amounts, sentence, waitingLine } from "./reason";
import { ended, tone, word } from "./states";
import { ago, bytes, coarse, cores, duration, memory, percent } from "./units";

describe("units", () => {
  it("memory", () => expect([memory(64), memory(1536), memory(2 ** 20)]).toEqual(["64 MiB", "1.5 GiB", "1 TiB"]));
  it("cores", () => expect([cores(250), cores(1000), cores(123_456)]).toEqual(["0.25", "1", "123"]));
  it("bytes", () => expect([bytes(0), bytes(1023), bytes(1536)]).toEqual(["0 B", "1023 B", "1.5 KiB"]));
  it("percent never shows a part as nothing, nor almost full as full", () =>
    expect([percent(0, 10), percent(1, 1000), percent(999, 1000), percent(1, 0)]).toEqual(["0 %", "<1 %", "99 %", "–"]));
  it("durations in two units at most", () =>
    expect([duration(420), duration(4_230), duration(59_900), duration(200_000), duration(7_500_000), duration(90_000_000)]).toEqual([
      "420 ms", "4.2 s", "59 s", "3 min 20 s", "2 h 5 min", "1 d 1 h",
    ]));
  it("no negative ages", () => expect([coarse(-5), ago("2026-01-01T00:00:10Z", Date.parse("2026-01-01T00:00:00Z"))]).toEqual(["0 s", "just now"]));
});

describe("states", () => {
  it("names what it knows and shows what it does not", () => expect([word("LOCALIZING"), word("SOMETHING")]).toEqual(["Fetching files", "Something"]));
  it("has a tone for each", () => expect([tone("LOST"), tone("WHATEVER")]).toEqual(["lost", "pending"]));
  it("knows the ends", () => expect([ended("KILLED"), ended("KILLING")]).toEqual([true, false]));
});

describe("why a group waits", () => {
  const asked = { memory_mib: 2048, vcores_milli: 1000 };

  it("keeps the server's sentence when it has numbers", () =>
    expect(sentence({ code: "no_room", text: "2 GiB asked, 1 GiB free.", asked })).toBe("2 GiB asked, 1 GiB free."));
  it("puts asked beside free when there is no room", () =>
    expect(sentence({ code: "no_room", text: "whatever", asked, largest_free: { memory_mib: 512, vcores_milli: 0 } })).toBe(
      "Each asks for 2 GiB and 1 core; the node with most room has 512 MiB and 0 cores free. They start when there is room.",
    ));
  it("adds the numbers the sentence lacks", () =>
    expect(sentence({ code: "no_node_matches", asked })).toBe("No node matches its labels or locality: each task asks for 2 GiB and 1 core."));
  it("says an unknown code rather than nothing", () => expect(sentence({ code: "moon" })).toBe("It waits (moon)."));
  it("lists amounts", () => expect(amounts({ memory_mib: 64, vcores_milli: 500, gpus: 2 })).toBe("64 MiB, 0.5 cores and 2 GPUs"));
  it("counts who waits", () => {
    const group = { name: "map", pending: 3, reason: { code: "no_nodes" } } as Group;
    expect(waitingLine(group)?.who).toBe("3 tasks of map wait");
    expect(waitingLine({ ...group, reason: null })).toBeNull();
  });
});
