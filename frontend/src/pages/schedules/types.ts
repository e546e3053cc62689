/** What the API says of schedules. */
import type { components } from "../../api/schema";

type Shapes = components["schemas"];
export type Schedule = Shapes["Schedule"];
export type ScheduleDetail = Shapes["ScheduleDetail"];
export type ScheduleRun = Shapes["ScheduleRun"];
export type Preview = Shapes["SchedulePreview"];
export type Overlap = "skip" | "allow" | "replace";
