/** Geometry of a job's timeline: when each group waited and ran, on one axis. Times are ms since 1970. */
import type { Group, Job, JobPlace } from "../../api/types";

export interface Span {
  from: number;
  to: number;
  kind: "waited" | "ran";
  /** Still going on: the right end is now. */
  open: boolean;
}

export interface Lane {
  group: Group;
  spans: Span[];
}

/** A sub-cluster: nothing was granted there before its bar begins. */
export interface PlaceLane {
  place: JobPlace;
  home: boolean;
  from: number;
  to: number;
  open: boolean;
}

export interface Mark {
  at: number;
  name: string;
}

export interface Timeline {
  from: number;
  to: number;
  marks: Mark[];
  lanes: Lane[];
}

export function timeline(job: Job, now: number): Timeline {
  const from = Date.parse(job.submitted_at);
  const end = job.finished_at ? Date.parse(job.finished_at) : Math.max(now, from + 1);
  const named: [string | null, string][] = [
    [job.submitted_at, "submitted"], [job.admitted_at, "admitted"], [job.started_at, "first start"], [job.finished_at, "finished"],
  ];
  const marks = named.flatMap(([iso, name]) => (iso ? [{ at: Date.parse(iso), name }] : []));
  return { from, to: Math.max(end, from + 1), marks, lanes: job.groups.map((group) => ({ group, spans: spans(group, from, end) })) };
}

function spans(group: Group, submitted: number, end: number): Span[] {
  const started = group.started_at ? Date.parse(group.started_at) : null;
  const finished = group.finished_at ? Date.parse(group.finished_at) : null;
  if (started === null) return [{ from: submitted, to: finished ?? end, kind: "waited", open: finished === null }];
  return [
    { from: submitted, to: started, kind: "waited", open: false },
    { from: started, to: finished ?? end, kind: "ran", open: finished === null },
  ];
}

/** The sub-clusters where containers were granted; none where all of them were at the job's home. */
export function placeLanes(job: Job, places: JobPlace[], t: Timeline): PlaceLane[] {
  if (places.every((place) => place.sub_cluster === job.home)) return [];
  return places.map((place) => ({
    place, home: place.sub_cluster === job.home, from: Date.parse(place.first_at), to: place.last_at ? Date.parse(place.last_at) : t.to, open: place.last_at === null,
  }));
}

/** Position of a time, 0 to 100. */
export function place(t: Timeline, at: number): number {
  return Math.min(100, Math.max(0, (100 * (at - t.from)) / (t.to - t.from)));
}

const STEPS_MS = [
  50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3, 21_600e3, 43_200e3, 86_400e3,
];

/** Round offsets from the start, in ms, at most `most` of them. */
export function ticks(spanMs: number, most = 6): number[] {
  const step = STEPS_MS.find((s) => spanMs / s <= most) ?? Math.ceil(spanMs / most / 86_400e3) * 86_400e3;
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, i) => i * step);
}
