/** A schedule while it is written: what the API takes of it, what hydractl is told, and the files that it brings. Pure. */
import type { FieldError } from "../../api/types";
import { hydractl } from "../../format/shell";
import { localInput } from "../../format/units";
import { withField, type Path } from "../submit/document";
import { uploaded, type FileEntry, type Upload } from "../submit/source";
import type { Overlap, ScheduleDetail } from "./types";

export interface Draft {
  name: string;
  cron: string;
  zone: string;
  /** Days, with commas or spaces between. */
  except: string;
  overlap: Overlap;
  within: string;
  keep: string;
  /** As an input of type datetime-local has it, in the reader's zone; "" for none. */
  until: string;
  job: string;
  set: Record<string, string>;
}

/** Parameters that the schedule gives by itself. */
export const OWN = ["schedule_time", "schedule_date", "schedule_name"];

export const EXAMPLE = `# What is started at each time. A parameter of this name gets its day.
name: nightly
queue: root.default
parameters: {schedule_date: }
groups:
  - name: report
    shell: true
    command: |
      echo "the report of \${{ schedule_date }}" | tee report.txt
    resources: {memory_mib: 64, vcores_milli: 250}
    outputs:
      - {name: report, path: report.txt}
`;

export function fresh(zone: string, job = EXAMPLE, set: Record<string, string> = {}): Draft {
  return { name: "", cron: "30 2 * * *", zone, except: "", overlap: "skip", within: "1h", keep: "50", until: "", job, set };
}

export function fromDetail(found: ScheduleDetail): Draft {
  const set = Object.fromEntries(Object.entries(found.set).map(([name, value]) => [name, String(value)]));
  return {
    name: found.name, cron: found.cron, zone: found.zone, except: found.except_days.join(", "), overlap: found.overlap, within: `${found.start_within_s}s`,
    keep: String(found.keep), until: found.until ? localInput(new Date(found.until)) : "", job: found.job, set,
  };
}

const days = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
const given = (set: Record<string, string>) => Object.fromEntries(Object.entries(set).filter(([, value]) => value !== ""));

/** What the API is sent. `job`: its text with the files that were uploaded. */
export function request(draft: Draft, job = draft.job): Record<string, unknown> {
  const keep = Number(draft.keep);
  return {
    name: draft.name.trim(), cron: draft.cron.trim(), zone: draft.zone.trim(), except_days: days(draft.except), overlap: draft.overlap, start_within_s: draft.within.trim(),
    keep: draft.keep.trim() && Number.isFinite(keep) ? keep : draft.keep, until: draft.until ? new Date(draft.until).toISOString() : null, job, set: given(draft.set),
  };
}

/** The same from a shell. `id`: of one that is changed. */
export function command(draft: Draft, id?: number): string {
  // An update keeps what is not said.
  const usual = id === undefined ? { overlap: "skip", within: "1h", keep: "50" } : { overlap: "", within: "", keep: "" };
  const none = id === undefined ? [] : ["none"];
  const except = days(draft.except);
  const values = Object.entries(given(draft.set)).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  const options = ["--cron", draft.cron.trim() || "…", "--zone", draft.zone.trim() || "UTC", ...(except.length ? except : none).flatMap((day) => ["--except", day]),
    ...(draft.overlap === usual.overlap ? [] : ["--overlap", draft.overlap]), ...(draft.within === usual.within ? [] : ["--start-within", draft.within || "1h"]),
    ...(draft.keep === usual.keep ? [] : ["--keep", Number(draft.keep) || 50]), ...(draft.until ? ["--until", draft.until] : id === undefined ? [] : ["--until", "never"]), ...values];
  return id === undefined ? hydractl("schedule", "create", draft.name.trim() || "NAME", "job.yaml", ...options) : hydractl("schedule", "update", id, "--name", draft.name.trim() || "NAME", "--file", "job.yaml", ...options);
}

/** The text of a job file with each local path replaced by what was uploaded for it; its comments stay. */
export function withFiles(text: string, value: Record<string, unknown>, uploads: Map<string, Upload>): string {
  const groups = Array.isArray(value.groups) ? value.groups.map((_, no): Path => ["groups", no]) : [];
  let done = text;
  for (const holder of [[], ["master"], ...groups] as Path[]) {
    const files = holder.reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], value) as { files?: unknown } | undefined;
    const list = Array.isArray(files?.files) ? (files.files as FileEntry[]) : [];
    list.forEach((entry, no) => {
      const upload = typeof entry?.source === "string" && !entry.digest ? uploads.get(entry.source) : undefined;
      if (upload) done = withField(done, [...holder, "files", no], uploaded(entry, upload));
    });
  }
  return done;
}

const FIELDS = ["name", "cron", "zone", "except_days", "overlap", "start_within_s", "keep", "until"];

/** Errors that stand at a field of the form; and those of the job file, under the names that its fields have in it. */
export function sorted(errors: FieldError[]): { form: FieldError[]; job: FieldError[] } {
  const own = (e: FieldError) => FIELDS.includes(e.field.split(".")[0] ?? "") || e.field.startsWith("set.");
  const rest = errors.filter((e) => !own(e)).map((e) => ({ ...e, field: e.field.replace(/^job\./, "") }));
  return { form: errors.filter(own), job: rest };
}

/** What is said of a field of the form, or of any below it. */
export function said(errors: FieldError[], field: string): string | undefined {
  const found = errors.find((e) => e.field === field || e.field.startsWith(`${field}.`));
  return found && `${found.message}${found.remedy ? `; ${found.remedy}` : ""}`;
}
