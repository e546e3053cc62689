/** Figures of a simulation as the report and hydractl say them: three digits, a unit, and what their intervals allow. */
import type { Estimate, FigureAbout } from "../types";

export type Verdict = "better" | "worse" | "higher" | "lower" | "unclear" | "";
export interface Said {
  text: string;
  /** Its 95 % interval in the same unit; "" without one. */
  interval: string;
}

const NONE = "–";
const DURATIONS = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"], [0.001, "ms"]] as const;
const UNITS: Record<string, [number, string]> = { part: [100, " %"], count: [1, ""], "core hours": [1, " core h"] };

export const signed = (text: string): string => (text.startsWith("-") || !/[1-9]/.test(text) ? text : `+${text}`).replaceAll("-", "−");

function scaleOf(size: number, unit: string): [number, string] {
  if (unit !== "s") return UNITS[unit] ?? [1, ""];
  if (size === 0) return [1, " s"];
  const [length, name] = DURATIONS.find(([length]) => size >= length * (length <= 1 ? 1 : 2)) ?? [0.001, "ms"]; // 90 s are "90 s", not "1.5 min"
  return [1 / length, ` ${name}`];
}

/** Three digits that matter, two below 1; whole things in whole numbers from ten on. */
export function number(amount: number, whole = false): string {
  const size = Math.abs(amount);
  const fixed = (digits: number) => amount.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (size >= 99.95 || (whole && (size >= 9.5 || Number.isInteger(amount)))) return fixed(0);
  if (size >= 0.995) return fixed(size >= 9.995 ? 1 : 2);
  return size >= 0.00005 ? fixed(Math.min(4, 1 - Math.floor(Math.log10(size)))) : "0";
}

/** The ends of an interval that can be told; null without one. */
export function ends(estimate: Estimate): [number, number] | null {
  return estimate.over && estimate.low !== null && estimate.high !== null ? [estimate.low, estimate.high] : null;
}

function said(estimate: Estimate, unit: string, put: (text: string) => string, ending?: string): Said {
  const amounts = [estimate.value ?? 0, ...(ends(estimate) ?? [])];
  const [scale, name] = scaleOf(Math.max(...amounts.map(Math.abs)), unit);
  const [text = "", ...others] = amounts.map((amount) => put(number(amount * scale, unit === "count")));
  const differ = new Set([text, ...others]).size > 1;
  return { text: text + (ending ?? name), interval: differ ? `${others[0]} to ${others[1]}` : "" };
}

/** Such as "4.2 min", "81.3 %" or "1,204". */
export function value(amount: number | null, unit: string): string {
  return amount === null ? NONE : said({ value: amount, low: null, high: null, over: "", count: 0 }, unit, (text) => text).text;
}

/** Such as "+4.2 min", and "+1.0 to +7.4"; parts change by points, as a difference of percentages is not in percent. */
export function change(found: Estimate | null, unit: string): Said {
  if (found === null || found.value === null) return { text: NONE, interval: "" };
  if (![found.value, ...(ends(found) ?? [])].some(Boolean)) return { text: "none", interval: "" };
  return said(found, unit, signed, unit === "part" ? " points" : undefined);
}

/** What a change is; "unclear" where its interval has 0 in it, "" where there is no interval to tell by. */
export function verdict(found: Estimate | null, better: FigureAbout["better"]): Verdict {
  const between = found && ends(found);
  if (!found || found.value === null || !between || ![found.value, ...between].some(Boolean)) return "";
  if (between[0] <= 0 && between[1] >= 0) return "unclear";
  const direction = found.value > 0 ? "higher" : "lower";
  return !better ? direction : direction === better ? "better" : "worse";
}
