/** What somebody typed to add an override, as the API takes it. */
import type { OverrideRequest } from "../types";
import { typed } from "./limits";

export interface OverrideFields {
  queue: string;
  field: OverrideRequest["field"];
  partition: string;
  by: "percent" | "to";
  value: string;
  /** Of the reader's clock, as a datetime-local field holds it; empty: at once. */
  start: string;
  end: string;
  message: string;
}

export function made(fields: OverrideFields, now: number): { request: OverrideRequest } | { wrong: string } {
  const change = changeOf(fields);
  if (!fields.queue.trim()) return { wrong: "Say of which queue, such as root.ads" };
  if (typeof change === "string") return { wrong: change };
  const end = Date.parse(fields.end);
  const start = fields.start ? Date.parse(fields.start) : null;
  if (Number.isNaN(end) || (start !== null && Number.isNaN(start))) return { wrong: "Say until when" };
  if (end <= (start ?? now)) return { wrong: "It would end before it begins" };
  if (!fields.message.trim()) return { wrong: "Say why: others read it" };
  const starts_at = start === null || start <= now ? null : new Date(start).toISOString();
  return { request: { queue: fields.queue.trim(), field: fields.field, partition: fields.partition, change, starts_at, ends_at: new Date(end).toISOString(), message: fields.message.trim() } };
}

function changeOf(fields: OverrideFields): OverrideRequest["change"] | string {
  const text = fields.value.trim();
  if (fields.by === "percent") {
    const percent = Number(text.replace(/ *%$/, "").replace("−", "-"));
    return text && Number.isFinite(percent) && percent > -100 && percent <= 1000 && percent !== 0 ? { percent } : "Say by how much, in percent: +20, or -20";
  }
  if (/^(none|null|no limit)$/i.test(text)) return { to: null };
  const to = typed(text);
  return to === undefined ? "Say which value it is to have" : { to };
}
