import { describe, expect, it } from "vitest";
import type { Group, WaitLimit } from "../api/types";
import { amount, amounts, comparisons, place, sentence, title, waitingLine } from "./reason";
import { ended, tone, word } from "./states";
import { ago, bytes, coarse, cores, duration, large, memory, percent } from "./units";

describe("units", () => {
  it("memory", () => expect([memory(64), memory(1536), memory(2 ** 20)]).toEqual(["64 MiB", "1.5 GiB", "1 TiB"]));
  it("cores", () => expect([cores(250), cores(1000), cores(123_456)]).toEqual(["0.25", "1", "123"]));
  it("large numbers", () => expect([large(99_999), large(154_271), large(1_494_419), large(12_892_800)]).toEqual(["99,999", "154 k", "1.49 M", "12.9 M"]));
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
  const limit = (more: Partial<WaitLimit>): WaitLimit => ({ limit: "no_room", text: "", asked: {}, available: {}, ...more });

  it("sets what there is beside what is asked", () =>
    expect(comparisons(limit({ asked: { memory_mib: 4096, gpus: 1 }, available: { memory_mib: 3072 } }))).toEqual([
      { name: "memory_mib", asked: "4 GiB", there: "3 GiB", part: 0.75 },
      { name: "gpus", asked: "1 GPU", there: "0 GPUs", part: 0 },
    ]));
  it("sets nothing beside what one is not told", () => expect(comparisons(limit({ asked: { memory_mib: 4096 } }))).toEqual([]));
  it("counts tasks of a gang", () => expect([amount("containers", 8), amount("vcores_milli", 1000)]).toEqual(["8 tasks", "1 core"]));
  it("ends the server's sentence once", () => expect([sentence("Full.", "x"), sentence("Full", "x")]).toEqual(["Full.", "Full."]));
  it("says an unknown code rather than nothing", () => expect([sentence(undefined, "moon"), title("on_the_moon")]).toEqual(["It waits (moon).", "On the moon"]));
  it("lists amounts", () => expect(amounts({ memory_mib: 64, vcores_milli: 500, gpus: 2 })).toBe("64 MiB, 0.5 cores and 2 GPUs"));
  it("says what is ahead", () => {
    const at = (jobs_ahead: number, containers_ahead: number | null) => place({ code: "no_room", position: { jobs_ahead, containers_ahead } });
    expect([at(0, 0), at(1, 9), at(3, null)]).toEqual([
      "Nobody is ahead of it in its queue", "1 job with 9 tasks is ahead of it in its queue", "3 jobs are ahead of it in its queue",
    ]);
    expect(place({ code: "dependencies", position: null })).toBeNull();
  });
  it("counts who waits", () => {
    const group = { name: "map", pending: 3, reason: { code: "no_nodes" } } as Group;
    expect(waitingLine(group)).toBe("3 tasks of map wait");
    expect(waitingLine({ ...group, reason: null })).toBeNull();
  });
});
