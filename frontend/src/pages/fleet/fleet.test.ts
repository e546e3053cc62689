import { describe, expect, it } from "vitest";
import { command, fromSearch, known, matching, narrowed, PLAIN, toSearch } from "./filter";
import { cellAt, layout, moved, origin, pitchFor, runsOf } from "./layout";
import { ageText, filled, nodeText, share } from "./look";
import { find, numbers, rackOf, take, type ColumnName, type Fleet, type Told, type ToldPart } from "./model";
import { level } from "./paint";
import { sorted } from "./table";

const STANDINGS = ["REGISTERED", "UP", "UNHEALTHY", "LOST", "DECOMMISSIONED", "CORDONED", "DRAINING", "DRAINED", "LEAVING", "MAINTENANCE"];
const BYTES: Record<ColumnName, number> = { standing: 1, held: 1, memory: 1, cores: 1, gpus: 1, used_memory: 1, used_cores: 1, containers: 2, silent: 4 };

function base64(values: number[], bytes: number): string {
  const raw = values.flatMap((v) => Array.from({ length: bytes }, (_, i) => Math.floor(v / 256 ** i) % 256));
  return btoa(String.fromCharCode(...raw));
}

function columns(n: number, more: Partial<Record<ColumnName, number[]>> = {}): Record<ColumnName, string> {
  const found = {} as Record<ColumnName, string>;
  for (const name of Object.keys(BYTES) as ColumnName[]) found[name] = base64(more[name] ?? Array<number>(n).fill(name === "standing" ? 1 : 0), BYTES[name]);
  return found;
}

const KIND = { labels: { ssd: "true", zone: "a" }, capacity: { memory_mib: 1024, vcores_milli: 4000, gpus: 0 } };
const GPU = { labels: { gpu: "true" }, capacity: { memory_mib: 2048, vcores_milli: 8000, gpus: 8 } };

function east(more: Partial<ToldPart> = {}): ToldPart {
  return { name: "east", state: "running", ids: [10, 1, 5, -2], names: ["n1", "n2", "n10", "g1"], racks: ["r1", 3, "r2", 1], kinds: [KIND, GPU], kind: [0, 3, 1, 1], columns: columns(4), ...more };
}

const told = (...sub_clusters: ToldPart[]): Told => ({ at: 1000, whole: 200, standings: STANDINGS, sub_clusters });
const fleet = (more: Partial<Record<ColumnName, number[]>> = {}): Fleet => take(null, told(east({ columns: columns(4, more) })))!;

describe("a fleet in columns", () => {
  it("is unpacked", () => {
    const { parts: [part], nodes } = fleet({ containers: [0, 300, 0, 65535], silent: [0, 1, 1_700_000_000, 0] });
    expect([...part!.ids]).toEqual([10, 11, 16, 14]);
    expect([...part!.kind]).toEqual([0, 0, 0, 1]);
    expect(part!.racks).toEqual([{ name: "r1", from: 0, count: 3 }, { name: "r2", from: 3, count: 1 }]);
    expect([part!.columns.containers[1], part!.columns.containers[3], part!.columns.silent[2], nodes]).toEqual([300, 65535, 1_700_000_000, 4]);
    expect([0, 2, 3].map((row) => rackOf(part!, row)?.name)).toEqual(["r1", "r1", "r2"]);
  });
  it("changes by steps: some rows, all rows, nothing, a state, other nodes", () => {
    const one = fleet();
    const some = take(one, told({ name: "east", state: "running", rows: base64([2, 3], 4), columns: columns(2, { memory: [7, 9] }) }))!;
    expect([...some.parts[0]!.columns.memory]).toEqual([0, 0, 7, 9]);
    expect([...some.parts[0]!.changed]).toEqual([1, 1, 2, 2]);
    expect(some.parts[0]!.since).toBe(1);
    const none = take(some, told({ name: "east", state: "running" }))!;
    expect(none.parts[0]).toBe(some.parts[0]);
    expect(take(none, told({ name: "east", state: "draining" }))!.parts[0]).toMatchObject({ state: "draining", since: 1 });
    const all = take(none, told({ name: "east", state: "running", columns: columns(4, { cores: [1, 2, 3, 4] }) }))!;
    expect([...all.parts[0]!.changed]).toEqual([4, 4, 4, 4].map(() => all.step));
    expect(take(all, told(east({ names: ["x"], ids: [1], racks: ["r", 1], kind: [0, 1], columns: columns(1) })))!.nodes).toBe(1);
  });
  it("loses sub-clusters that are no longer told of, and takes no step about one it does not know", () => {
    expect(take(fleet(), told())!.parts).toEqual([]);
    expect(take(fleet(), told({ name: "west", state: "running" }))).toBeNull();
  });
  it("finds a node by its number", () => {
    expect(find(fleet(), 16)).toMatchObject({ row: 2 });
    expect(find(fleet(), 17)).toBeNull();
  });
  it("numbers", () => expect([...numbers(base64([1, 65_535], 2), 2)]).toEqual([1, 65_535]));
});

describe("what a cell says", () => {
  const f = fleet({ memory: [50, 200, 1, 0], used_memory: [20, 0, 0, 0], gpus: [0, 0, 0, 100], standing: [1, 5, 3, 1], held: [0, 0, 0, 1], silent: [0, 0, 940, 0], containers: [1, 2, 0, 0] });
  const part = f.parts[0]!;
  const shown = (row: number, fill: "allocated" | "used" | "reserved", of: "memory" | "cores" | "gpus") => filled(f, part, row, fill, of);
  it("is how full it is, or that there is nothing to fill", () =>
    expect([shown(0, "allocated", "memory"), shown(0, "used", "memory"), shown(0, "allocated", "gpus"), shown(3, "allocated", "gpus"), shown(3, "used", "gpus")]).toEqual([50, 20, -1, 100, -1]));
  it("is what operators and reservations hold of what is free", () =>
    expect([shown(0, "reserved", "memory"), shown(1, "reserved", "memory"), shown(1, "reserved", "cores"), shown(3, "reserved", "gpus")]).toEqual([0, 0, 200, 100]));
  it("is how old its numbers are", () => expect([0, 2].map((row) => ageText(f, part, row, 1_000_000))).toEqual(["", "silent for 1 min"]));
  it("is said in words", () => {
    expect(nodeText(f, part, 2, 1_000_000)).toContain("n10, Lost, stale, silent for 1 min, rack r1");
    expect(nodeText(f, part, 3, 1_000_000)).toContain("GPUs 50 %");
    expect([share(f, 1), share(f, 0), share(f, 199), share(f, -1)]).toEqual(["<1 %", "0 %", "99 %", "–"]);
  });
  it("has a colour of its own for nothing, something, nearly all and all", () => expect([-1, 0, 1, 199, 200].map((n) => level(n, 200))).toEqual([-1, 0, 1, 19, 20]));
});

describe("filters", () => {
  const f = fleet({ standing: [1, 5, 3, 1], silent: [0, 0, 940, 0] });
  const rows = (more: object) => [...matching(f, f.parts[0]!, { ...PLAIN, ...more })];
  it("are kept in the address, and nothing that is as always", () => {
    const search = "?q=n1&sub=east&state=stale&fill=used&of=cores&view=table&sort=-memory";
    expect(toSearch(fromSearch(search))).toBe(search);
    expect(toSearch(fromSearch("?fill=evil&of=&x=1"))).toBe("");
    expect(command(fromSearch("?q=ea&sub=east&rack=r1&label=gpu%3Dit's&state=closed"))).toBe("hydractl nodes --sub-cluster east --contains ea --rack r1 --label 'gpu=it'\\''s' --state closed");
    expect(command(PLAIN)).toBe("hydractl nodes");
    expect([narrowed(PLAIN), narrowed({ ...PLAIN, rack: "r1" })]).toEqual([false, true]);
  });
  it("choose nodes", () => {
    expect(rows({})).toEqual([0, 1, 2, 3]);
    expect(rows({ q: "N1" })).toEqual([0, 2]);
    expect(rows({ rack: "R2" })).toEqual([3]);
    expect([rows({ label: "zone=a" }), rows({ label: "gpu" }), rows({ label: "zone=b" }), rows({ label: "toString" })]).toEqual([[0, 1, 2], [3], [], []]);
    expect([rows({ state: "stale" }), rows({ state: "closed" }), rows({ state: "CORDONED" }), rows({ state: "UP" })]).toEqual([[2], [1], [1], [0, 3]]);
    expect(rows({ sub: "west" })).toEqual([]);
  });
  it("suggest what there is", () => expect(known(f)).toEqual({ labels: ["gpu", "ssd", "zone=a"], racks: ["r1", "r2"] }));
});

describe("the table", () => {
  const f = fleet({ memory: [5, 9, 9, 1] });
  const names = (sort: string) => sorted(f, [Uint32Array.of(0, 1, 2, 3)], sort).map((at) => f.parts[at.part]!.names[at.row]);
  it("is sorted by any column, numbers in names as numbers, equal ones as they were", () => {
    expect(names("")).toEqual(["n1", "n2", "n10", "g1"]);
    expect(names("name")).toEqual(["g1", "n1", "n2", "n10"]);
    expect(names("-memory")).toEqual(["n2", "n10", "n1", "g1"]);
    expect(names("evil")).toEqual(names(""));
  });
});

describe("the map", () => {
  const all = (n: number) => Uint32Array.from({ length: n }, (_, i) => i);
  const racks = (n: number, size: number) => Array.from({ length: Math.ceil(n / size) }, (_, i) => ({ name: `r${i}`, from: i * size, count: Math.min(size, n - i * size) }));
  it("finds the cell it drew, for any number of nodes and racks, and never draws outside", () => {
    for (const [n, size] of [[1, 1], [7, 3], [400, 400], [2_500, 40], [2_500, 1], [50_000, 40]] as const) {
      for (const width of [340, 620, 1240]) {
        const pitch = pitchFor(n, width * 800);
        const l = layout(runsOf(racks(n, size), all(n)), width, pitch);
        expect(l.n).toBe(n);
        const wrong: number[] = [];
        for (let at = 0; at < n; at += Math.max(1, n >> 7)) {
          const { x, y } = origin(l, at);
          const inside = x + pitch - l.gap <= Math.max(width, pitch) && y + pitch - l.gap <= l.height;
          if (!inside || cellAt(l, x + 1, y + 1) !== at) wrong.push(at);
        }
        expect(wrong).toEqual([]);
      }
    }
  });
  it("has nothing between racks and beyond the last node", () => {
    const l = layout(runsOf(racks(3, 2), all(3)), 300, 24);
    expect([cellAt(l, 299, 1), cellAt(l, 1, l.height + 9), cellAt(l, -1, 3)]).toEqual([null, null, null]);
  });
  it("leaves out racks of which nothing is wanted", () =>
    expect(runsOf(racks(9, 3), Uint32Array.of(1, 6, 8))).toEqual([{ name: "r0", from: 0, count: 1 }, { name: "r2", from: 1, count: 2 }]));
  it("is walked with keys: across racks, and never off its edges", () => {
    const n = 100;
    const l = layout(runsOf(racks(n, 25), all(n)), 150, 11);
    expect([moved(l, 0, "ArrowLeft"), moved(l, 0, "ArrowUp"), moved(l, 99, "ArrowRight"), moved(l, 99, "ArrowDown"), moved(l, 5, "End"), moved(l, 5, "Home")]).toEqual([0, 0, 99, 99, 99, 0]);
    expect([moved(l, 3, "PageDown"), moved(l, 30, "PageUp"), moved(l, 80, "PageDown")]).toEqual([25, 0, 75]);
    const seen = new Set<number>();
    for (let at = 0, last = -1; at !== last; last = at, at = moved(l, at, "ArrowDown"), seen.add(at)) expect(at).toBeLessThan(n);
    expect(Math.max(...seen)).toBeGreaterThanOrEqual(75); // the last shelf is reached
  });
});
