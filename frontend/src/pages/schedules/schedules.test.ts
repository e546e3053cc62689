import { describe, expect, it } from "vitest";
import { fieldError } from "../../api/client";
import { parse } from "../submit/source";
import { command, fresh, fromDetail, request, said, sorted, withFiles } from "./draft";
import type { ScheduleDetail, ScheduleRun } from "./types";
import { inZone, outcome, until } from "./words";

const draft = { ...fresh("Europe/Berlin"), name: "nightly" };

describe("a schedule that is written", () => {
  it("is what the API takes", () => {
    expect(request({ ...draft, except: "12-25, 2026-01-01/2026-01-05", keep: "7", until: "", set: { a: "1", b: "" } }, "text")).toEqual({
      name: "nightly", cron: "30 2 * * *", zone: "Europe/Berlin", except_days: ["12-25", "2026-01-01/2026-01-05"], overlap: "skip", start_within_s: "1h", keep: 7, until: null, job: "text", set: { a: "1" },
    });
    expect([request({ ...draft, keep: "many" }).keep, request({ ...draft, keep: "" }).keep]).toEqual(["many", ""]);
  });
  it("is what it was made from", () => {
    const found = { ...request(draft), id: 1, start_within_s: 3600, set: { n: 2 }, until: "2026-03-01T12:30:00Z" } as unknown as ScheduleDetail;
    expect(request(fromDetail(found))).toEqual({ ...request(draft), start_within_s: "3600s", set: { n: "2" }, until: "2026-03-01T12:30:00.000Z" });
  });
  it("has a shell's form", () => {
    expect(command(draft)).toBe("hydractl schedule create nightly job.yaml --cron '30 2 * * *' --zone Europe/Berlin");
    expect(command({ ...draft, overlap: "replace", within: "5m", except: "12-25", set: { to: "it's" } }, 7))
      .toBe(`hydractl schedule update 7 --name nightly --file job.yaml --cron '30 2 * * *' --zone Europe/Berlin --except 12-25 --overlap replace --start-within 5m --keep 50 --until never --set 'to=it'\\''s'`);
  });
  it("brings files, and keeps its comments", () => {
    const text = "# mine\nname: a\ngroups:\n  - name: g # first\n    files: [{path: x, source: lib/x.py}, {path: y, digest: d}]\n";
    const made = withFiles(text, parse(text).value!, new Map([["lib/x.py", { digest: "abc", size: 3 }]]));
    expect(made).toContain("# mine");
    expect(made).toContain("# first");
    expect(parse(made).value).toEqual({ name: "a", groups: [{ name: "g", files: [{ path: "x", digest: "abc", size: 3 }, { path: "y", digest: "d" }] }] });
  });
  it("has programs executed, unless it says another mode", () => {
    const text = "name: a\nfiles: [{path: x, source: x}, {path: y, source: y, mode: 384}]\n";
    const program = { digest: "abc", size: 3, mode: 0o755 };
    const made = withFiles(text, parse(text).value!, new Map([["x", program], ["y", program]]));
    expect(parse(made).value).toEqual({ name: "a", files: [{ path: "x", ...program }, { path: "y", ...program, mode: 384 }] });
  });
  it("has its errors at its fields, and those of the job in the job", () => {
    const found = sorted([fieldError("cron", "is none", "write one"), fieldError("except_days.1", "is no day"), fieldError("job.groups.0.name", "is long"), fieldError("set.x", "is none"), fieldError("job", "is no YAML")]);
    expect([said(found.form, "cron"), said(found.form, "except_days"), said(found.form, "zone")]).toEqual(["is none; write one", "is no day", undefined]);
    expect(found.job.map((e) => e.field)).toEqual(["groups.0.name", "job"]);
  });
});

it("times are told in the schedule's zone", () => {
  expect(inZone("2026-01-31T01:30:00Z", "Europe/Berlin")).toContain("02:30");
  expect(inZone("2026-07-31T01:30:00Z", "Europe/Berlin")).toContain("03:30");
  expect(inZone("2026-01-31T01:30:00Z", "Nowhere/Town")).toContain("01:30");
  const now = Date.parse("2026-01-31T01:00:00Z");
  expect(["2026-01-31T00:59:00Z", "2026-01-31T01:00:20Z", "2026-01-31T01:30:00Z", "2026-02-02T01:00:00Z"].map((at) => until(at, now))).toEqual(["due", "in 20 s", "in 30 min", "in 2 d"]);
});

it("a time that has no job says why", () => {
  expect(["refused", "late", "of tomorrow"].map((o) => outcome({ outcome: o } as ScheduleRun).word)).toEqual(["Refused", "Skipped: too late", "of tomorrow"]);
});
