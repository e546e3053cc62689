import { describe, expect, it } from "vitest";
import { at, fromSpec, numberOr, readPairs, textAt, withAdded, withField, words, writePairs } from "./document";
import { errorAt } from "./errors";
import { fieldError } from "../../api/client";
import { whereOf } from "../../format/text";
import { EXAMPLE, located, parametersOf, parse, submitCommand, withValues } from "./source";

const value = (text: string) => parse(text).value;

describe("a job file as a form", () => {
  it("changes one field and keeps comments and all else", () => {
    const text = "# mine\nname: a # short\ngroups:\n  - name: g\n    command: ['true'] # nothing\n";
    const next = withField(text, ["name"], "b");
    expect(next).toBe("# mine\nname: b # short\ngroups:\n  - name: g\n    command: [ 'true' ] # nothing\n".replace("[ 'true' ]", next.includes("[ 'true' ]") ? "[ 'true' ]" : "['true']"));
  });
  it("makes what is missing on the way", () => {
    const next = withField("name: a\ngroups:\n  - name: g\n", ["groups", 0, "resources", "memory_mib"], 512);
    expect(at(value(next), ["groups", 0])).toEqual({ name: "g", resources: { memory_mib: 512 } });
  });
  it("removes a field and what it leaves empty", () => {
    const text = "name: a\ngroups:\n  - name: g\n    resources: {gpus: 1}\n";
    expect(at(value(withField(text, ["groups", 0, "resources", "gpus"], undefined)), ["groups", 0])).toEqual({ name: "g" });
  });
  it("starts from nothing", () => {
    expect(value(withField("", ["name"], "x"))).toEqual({ name: "x" });
    expect(value(withAdded("name: x\n", ["groups"], { name: "a" }))).toEqual({ name: "x", groups: [{ name: "a" }] });
    expect(value(withAdded("groups:\n  - {name: a}\n", ["groups"], { name: "b" }))).toEqual({ groups: [{ name: "a" }, { name: "b" }] });
  });
  it("leaves a broken text alone", () => expect(withField("name: [", ["name"], "x")).toBe("name: ["));
  it("writes scripts as blocks and hostile text as text", () => {
    const script = "echo one\necho \"two: 'x'\"\n";
    for (const hostile of [script, "a: b", "- x", "# no comment", "{}", "yes", "<img src=x onerror=alert(1)>", "*alias"]) {
      expect(at(value(withField(EXAMPLE, ["groups", 0, "command"], hostile)), ["groups", 0, "command"])).toBe(hostile);
    }
    expect(withField(EXAMPLE, ["groups", 0, "command"], script)).toContain("command: |");
  });
  it("reads what people type", () => {
    expect([numberOr(" 12 "), numberOr(""), numberOr("many"), numberOr(" 1 GiB "), words("a, b  c"), words(" ")]).toEqual([12, undefined, "many", "1 GiB", ["a", "b", "c"], undefined]);
    expect(readPairs("out: a/b.txt\nplain\n")).toEqual([{ name: "out", path: "a/b.txt" }, { name: "plain", path: "plain" }]);
    expect(readPairs(writePairs([{ name: "out", path: "x" }]))).toEqual([{ name: "out", path: "x" }]);
  });
  it("shows nothing for what is no text", () => expect([textAt({ a: [1] }, ["a"]), textAt({ a: null }, ["a"]), textAt({}, ["a", "b"]), textAt({ a: 0 }, ["a"])]).toEqual(["", "", "", "0"]));
});

describe("a stored job as a file again", () => {
  it("leaves defaults out and comes back the same", () => {
    const group = { name: "g", count: 1, command: ["true"], shell: false, env: {}, after: [], retries: 2, grace_s: 5, resources: { memory_mib: 1, vcores_milli: 2, gpus: 0 } };
    const text = fromSpec({ name: "a", kind: "batch", queue: "root.x", priority: 0, tags: [], files: [], groups: [group], master: null });
    expect(value(text)).toEqual({ name: "a", queue: "root.x", priority: 0, groups: [{ name: "g", command: ["true"], retries: 2, resources: group.resources }] });
  });
  it("gives an application back its master alone", () => expect(value(fromSpec({ name: "a", kind: "application", groups: [{}], master: { command: ["x"] } }))).toEqual({ name: "a", kind: "application", master: { command: ["x"] } }));
});

it("puts errors at their fields", () => {
  const errors = [fieldError("groups.0.count", "m", "r")];
  expect([errorAt(errors, ["groups", 0, "count"])?.message, errorAt(errors, ["groups", 0])]).toEqual(["m", undefined]);
});

it("tells where errors stand in the text, in its order and as hydractl says it", () => {
  const text = "name: A\ngroups:\n  - name: map\n    count: 0\n";
  const said = (field: string, group = "") => ({ ...fieldError(field, "m"), group });
  const found = located([said("groups.0.count", "map"), said("groups.0.command", "map"), said("queue"), said("name")], parse(text));
  expect(found.map(whereOf)).toEqual(["queue", "name (line 1, column 1)", "groups.0.command (group map, line 3, column 5)", "groups.0.count (group map, line 4, column 5)"]);
  expect(parse("name: [").problems.map((p) => [p.line, p.column])).toEqual([[1, 8]]);
});

it("knows the parameters of a file, and gives what was typed for them", () => {
  const job = value("name: a\nparameters:\n  lr: 0.1\n  data:\n  n: {type: number, help: how many}\n  on: false\nset: {n: 1}\n")!;
  expect(parametersOf(job).map((p) => [p.name, p.usual, p.needed, p.help])).toEqual([["lr", "0.1", false, ""], ["data", "", true, ""], ["n", "", true, "how many"], ["on", "false", false, ""]]);
  const typed = { lr: "0.2", data: "", gone: "x", n: "3 4" };
  expect(withValues(job, typed).set).toEqual({ lr: "0.2", n: "3 4" });
  expect(withValues(job, { lr: "" })).toBe(job);
  expect(submitCommand(job, typed)).toBe("hydractl submit job.yaml --set lr=0.2 --set 'n=3 4'");
  expect([parametersOf({}), parametersOf({ parameters: [1] })]).toEqual([[], []]);
});
