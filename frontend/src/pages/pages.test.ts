import { describe, expect, it } from "vitest";
import { cookie, problemFrom } from "../api/client";
import type { Node, Queue, SubCluster } from "../api/types";
import { nextPath } from "../app/session";
import { bulkCommand } from "./jobs/BulkActions";
import { address, command, cursorOf, fromInput, fromSearch, saveCommand, toInput, topic, toQuery } from "./jobs/filters";
import { localInput } from "../format/units";
import { request, wrong } from "./fleet/duty";
import { health, keptBy, leftThere, shares, silentFor, standing } from "./overview/fleet";
import { fieldPath } from "./submit/errors";
import { isFolder, lacksSdk, localFiles, parse, withUploads } from "./submit/source";
import { modeOf } from "./submit/upload";
import { hydractl, quote } from "../format/shell";
import { progressText } from "../ui/bars";
import { some } from "../testing";

describe("refusals", () => {
  it("keep the fields of a problem document", () => {
    const e = problemFrom(422, { title: "T", detail: "D", errors: [{ field: "queue", message: "m" }] }, null);
    expect([e.title, e.detail, e.errors.length]).toEqual(["T", "D", 1]);
  });
  it("make sense of anything else", () => expect(problemFrom(502, "<html>", "3")).toMatchObject({ title: "The server could not answer", retryAfterS: 3 }));
  it("cookies", () => expect(cookie("csrftoken", "a=1; csrftoken=x%3D; b=2")).toBe("x="));
});

it("follows only addresses of this site after signing in", () => {
  expect(["?next=%2Fjobs%2F1", "?next=//evil", "?next=https://evil", "?next=/\\evil", ""].map(nextPath)).toEqual(["/jobs/1", "/", "/", "/", "/"]);
});

describe("job filters", () => {
  it("make one topic whatever their order", () => {
    expect(topic(fromSearch("?queue=root.a&state=FAILED&evil=1"))).toBe("jobs?state=FAILED&queue=root.a");
    expect(topic({})).toBe("jobs");
    expect(toQuery({ name: "a b&c" })).toBe("name=a+b%26c");
  });
  it("are safe to paste into a shell", () => {
    expect(command({ name: "it's; rm -rf /" })).toBe(`hydractl jobs --name 'it'\\''s; rm -rf /'`);
    expect(quote("root.prod")).toBe("root.prod");
    expect(hydractl("queues", "--under", "x;curl evil|sh", 3, false, undefined, "")).toBe("hydractl queues --under 'x;curl evil|sh' 3 ''");
    expect(saveCommand("my view", { state: "FAILED", tag: "$(x)" })).toBe("hydractl views save 'my view' state=FAILED 'tag=$(x)'");
  });
  it("stand in the address with the page", () => {
    expect([address({}), address({ tag: "a&b" }, "xY-_"), address({}, "q")]).toEqual(["/jobs", "/jobs?tag=a%26b&cursor=xY-_", "/jobs?cursor=q"]);
    expect([cursorOf("https://h/api/v1/jobs?tag=x&cursor=abc"), cursorOf(null), cursorOf("/jobs")]).toEqual(["abc", "", ""]);
  });
  it("write times in UTC and show them in the reader's zone", () => {
    expect(fromInput(toInput("2026-03-01T12:30Z"))).toBe("2026-03-01T12:30Z");
    expect([toInput("rubbish"), fromInput("")]).toEqual(["", ""]);
  });
  it("have a shell's form for what is done with many", () => expect([bulkCommand("kill", [1, 2], 0, ""), bulkCommand("queue", [3], 0, "root.a")]).toEqual(["hydractl kill 1 2", "hydractl move 3 --to root.a"]));
});

const node = (more: Partial<Node>) => ({ sub_cluster: "west", state: "UP", last_seen_s: 1, ...more }) as Node;
const sub = (more: Partial<SubCluster>) => ({ name: "west", lease_ok: true, nodes: { up: 2 }, summary_age_s: 0.5, ...more }) as SubCluster;

describe("the fleet", () => {
  it("says how long a node is silent, also while nobody tells", () =>
    expect([silentFor(node({})), silentFor(node({ last_seen_s: 20 })), silentFor(node({}), 30_000), silentFor(node({ last_seen_s: null })), silentFor(node({ state: "LOST" }))])
      .toEqual(["", "Silent for 20 s", "Silent for 31 s", "Its age is unknown", "Silent for 1 s"]));
  it("tells the worst first", () =>
    expect([sub({}), sub({ lease_ok: false }), sub({ frozen: true, lease_ok: false }), sub({ summary_age_s: null }), sub({ nodes: { up: 1, lost: 1 } }), sub({ nodes: { up: 0 } })].map((s) => health(s).word))
      .toEqual(["Healthy", "No leader", "Frozen", "Stale", "Degraded", "No nodes up"]));
  it("says what is left in words", () =>
    expect([null, { jobs: 0, containers: 0 }, { jobs: 1, containers: 2000 }].map((left) => leftThere({ left }))).toEqual(["", "", "1 job and 2,000 containers"]));
  it("says what keeps one from leaving, and what to do", () => {
    const left = { jobs: 1, containers: 0 };
    expect(keptBy(sub({ state: "draining", left }))).toBe("1 job left; its jobs leave once no container is left");
    expect(keptBy(sub({ state: "lost", left }))).toMatch(/^1 job left; .* start a worker for queue rm\.west, then: hydractl kill JOB\.\.\./);
    expect(keptBy(sub({ state: "lost", left: { jobs: 0, containers: 0 } }))).toBe("");
  });
  it("tells where a sub-cluster is in its life", () =>
    expect([sub({ state: "joining", lease_ok: false, waits_for: ["a first node"] }), sub({ state: "lost", lease_ok: false }), sub({ state: "draining" }), sub({ state: "draining", lease_ok: false })].map((s) => health(s).word))
      .toEqual(["Joining", "Lost", "Draining", "No leader"]));
  it("shows a queue along the resource it uses most of, or may have least of", () => {
    const r = (memory_mib: number, vcores_milli: number, gpus: number) => some({ memory_mib, vcores_milli, gpus });
    const queue = (used: object) => ({ used, guaranteed: r(20, 400, 0), maximum: r(80, 500, 0) }) as Queue;
    expect(shares(queue(r(10, 50, 0)), r(100, 1000, 0))).toEqual({ used: 0.1, guaranteed: 0.2, maximum: 0.8 });
    expect(shares(queue(r(0, 0, 0)), r(100, 1000, 0)).maximum).toBe(0.5);
    expect(shares(queue(r(0, 0, 0)), r(0, 0, 0)).maximum).toBe(0);
  });
});

describe("a job file", () => {
  const text = "name: x\ngroups:\n  - name: a\n    files:\n      - {path: m.py, source: ./m.py}\n    resources: {memory_mib: 1}\n";
  it("tells the line of a field, or of the nearest thing around it", () => {
    const { placeOf } = parse(text);
    const places = ["name", "groups.0.resources.memory_mib", "groups[0].command", "nowhere"].map((field) => placeOf(field)?.line ?? null);
    expect(places).toEqual([1, 6, 3, null]);
  });
  it("tells where it cannot be read", () => {
    expect(parse("a: [1,\nb: 2").problems[0]?.line).toBeGreaterThan(0);
    expect(parse("- 1").problems).toHaveLength(1);
    expect(parse('{"name": "json"}').value).toEqual({ name: "json" });
  });
  it("does not swell", () => expect(parse(`a: &a [x]\n${"b: &b [*a, *a]\n"}`).problems.length).toBeGreaterThanOrEqual(0));
  it("wants local files and replaces them by what was uploaded", () => {
    const value = parse(text).value!;
    expect(localFiles(value)).toEqual([{ source: "./m.py", path: "m.py" }]);
    const sent = withUploads(value, new Map([["./m.py", { digest: "d", size: 3 }]])) as { groups: { files: unknown[] }[] };
    expect(sent.groups[0]!.files).toEqual([{ path: "m.py", digest: "d", size: 3 }]);
    expect(localFiles(value)).toHaveLength(1);
  });
  it("wants the files of an application's master, too", () => {
    const value = parse("name: x\nmaster:\n  command: [python3, am.py]\n  files:\n    - {path: am.py, source: ./am.py}\n").value!;
    expect(localFiles(value)).toEqual([{ source: "./am.py", path: "am.py" }]);
    const sent = withUploads(value, new Map([["./am.py", { digest: "d", size: 3 }]])) as { master: { files: unknown[] } };
    expect(sent.master.files).toEqual([{ path: "am.py", digest: "d", size: 3 }]);
  });
  it("has programs executed, unless it says another mode", () => {
    const value = parse("name: x\nfiles:\n  - {path: run, source: run}\n  - {path: mine, source: mine, mode: 384}\n  - {path: data, source: data}\n").value!;
    const sent = withUploads(value, new Map([["run", { digest: "d", size: 3, mode: 0o755 }], ["mine", { digest: "d", size: 3, mode: 0o755 }], ["data", { digest: "e", size: 1 }]]));
    expect(sent.files).toEqual([{ path: "run", digest: "d", size: 3, mode: 0o755 }, { path: "mine", digest: "d", size: 3, mode: 384 }, { path: "data", digest: "e", size: 1 }]);
    expect([[0x23, 0x21, 0x2f], [0x7f, 0x45, 0x4c, 0x46, 2], [0x23], [0x23, 0x20], []].map((bytes) => modeOf(Uint8Array.from(bytes)).mode)).toEqual([0o755, 0o755, undefined, undefined, undefined]);
  });
  it("knows folders, which a browser cannot bring", () => {
    const folders = [["work", "work/"], ["work/", "w"], ["x", "."], ["x", "../.."], ["m.py", "./m.py"], [".x", ".x"]].map(([path, source]) => isFolder({ path: path!, source: source! }));
    expect(folders).toEqual([true, true, true, true, false, false]);
  });
  it("says where a master has no package hydra", () => {
    const of = (kind: string, ...paths: string[]) => lacksSdk({ kind, master: { command: ["python3", "am.py"], files: paths.map((path) => ({ path, digest: "d" })) } });
    expect([of("application"), of("application", "am.py", "hydra.py"), of("application", "hydra/am.py"), of("batch"), lacksSdk({ kind: "application", master: null })]).toEqual([true, true, false, false, true]);
  });
  it("paths", () => expect(fieldPath("groups[0]/files.1.path")).toEqual(["groups", 0, "files", 1, "path"]));
});

it("tells of a service how much of it runs, of all else how much is done", () => {
  const group = { count: 3, running: 2, succeeded: 0 };
  expect(["service", "batch"].map((kind) => progressText(kind, group))).toEqual(["2 of 3 running", "0 of 3 done"]);
});

describe("nodes out of service", () => {
  it("are told by one word", () => {
    const shown = (more: Partial<Node>) => standing(node({ duty: "in_service", drained: false, maintenance: null, ...more }));
    const active = { id: 1, starts_at: "", ends_at: "", message: "", active: true };
    expect([shown({}), shown({ duty: "cordoned" }), shown({ duty: "draining" }), shown({ duty: "draining", drained: true }), shown({ duty: "decommissioned" }),
      shown({ maintenance: active }), shown({ maintenance: { ...active, active: false } }), shown({ state: "LOST", duty: "draining" })])
      .toEqual(["UP", "CORDONED", "DRAINING", "DRAINED", "LEAVING", "MAINTENANCE", "UP", "LOST"]);
  });
  it("leave with their sub-cluster", () => {
    const shown = (more: Partial<Node>) => standing(node({ duty: "in_service", drained: false, maintenance: null, sub_cluster_state: "draining", ...more }));
    expect([shown({}), shown({ drained: true }), shown({ duty: "decommissioned" }), shown({ state: "LOST" })]).toEqual(["DRAINING", "DRAINED", "LEAVING", "LOST"]);
  });
  it("are planned in the person's own time", () => {
    const plan = { sub_cluster: "east", by: "rack" as const, which: " r1 ", start: "2030-01-01T10:00", hours: 1.5, lead_min: 10, message: "" };
    const asked = request(plan);
    expect(asked).toMatchObject({ sub_cluster: "east", rack: "r1", lead_s: 600 });
    expect(Date.parse(asked.ends_at as string) - Date.parse(asked.starts_at as string)).toBe(5_400_000);
    expect(localInput(new Date(asked.starts_at as string))).toBe(plan.start);
    expect([wrong(plan), wrong({ ...plan, which: " " }), wrong({ ...plan, start: "" }), wrong({ ...plan, hours: 0 })].map(Boolean)).toEqual([false, true, true, true]);
  });
});
