/** Jobs that are started again and again: the list, one with its history, and the form of one that is made or changed. */
import type { PageProps } from "../../app/pages";
import { ApiError } from "../../api/client";
import { Failed, Notice } from "../../ui/parts";
import { Detail } from "./Detail";
import { ChangeSchedule, NewSchedule } from "./Editor";
import { List } from "./List";
import "./schedules.css";

export default function SchedulesPage({ me, rest }: PageProps) {
  if (rest === "") return <List me={me} />;
  const [id = "", what] = rest.split("/");
  const known = /^\d{1,18}$/.test(id);
  const writes = id === "new" || (known && what === "edit");
  if (writes && me.role === "viewer") return <><h1>Schedules</h1><Notice>Viewers see everything and change nothing: an operator can give you another role.</Notice></>;
  if (id === "new" && what === undefined) return <NewSchedule me={me} />;
  if (known && what === "edit") return <ChangeSchedule key={id} id={id} me={me} />;
  if (known && what === undefined) return <Detail key={id} id={id} me={me} />;
  return <><h1>Schedules</h1><Failed error={new ApiError(404, "There is no such schedule", `${rest} is not a schedule's number.`)} /></>;
}
