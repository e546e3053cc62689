/** Shares and amounts as a document writes them, added up. The server's grammar is `policy.amounts`. */
import { OF } from "../../../format/resources";
import { RESOURCES, type ResourceName } from "./resources";

export interface Sum {
  /** Of the queue above, 0 to 1 where all is well. */
  share: number;
  /** Units of the resource, beside the shares. */
  units: number;
}

const UNITS: Record<string, number> = Object.assign({}, ...Object.values(OF).map((r) => r.units));
const TEXT = /^(\d{1,16}(?:\.\d{1,9})?) ?([A-Za-z]+|%)$/;

/** One share or amount; null where it is neither. */
export function amountOf(value: unknown): Sum | null {
  if (typeof value === "number" && value >= 0) return value <= 1 ? { share: value, units: 0 } : { share: 0, units: value };
  const found = typeof value === "string" ? TEXT.exec(value) : null;
  if (!found) return null;
  const number = Number(found[1]);
  if (found[2] === "%") return number <= 100 ? { share: number / 100, units: 0 } : null;
  const unit = UNITS[found[2]!];
  return unit === undefined ? null : { share: 0, units: Math.round(number * unit) };
}

/** A limit of one resource: one share stands for all of them; what a mapping leaves out is nothing. */
export function limitOf(value: unknown, resource: ResourceName): Sum {
  const own = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[resource] : value;
  return amountOf(own) ?? { share: 0, units: 0 };
}

export interface Total extends Sum {
  resource: ResourceName;
  /** What is left of the queue above; null where amounts stand beside shares and cannot be compared here. */
  left: number | null;
}

/** What is guaranteed to queues side by side, by resource. Resources of one and the same sum are told once. */
export function totals(siblings: { guaranteed?: unknown }[]): Total[] {
  const found = RESOURCES.map((resource) => {
    const sums = siblings.map((queue) => limitOf(queue.guaranteed, resource));
    const share = sums.reduce((sum, one) => sum + one.share, 0);
    const units = sums.reduce((sum, one) => sum + one.units, 0);
    return { resource, share, units, left: units ? null : 1 - share };
  });
  const first = found[0]!;
  return found.every((one) => one.share === first.share && one.units === first.units) ? [first] : found;
}

export function shareWord(share: number): string {
  return `${Number((100 * share).toFixed(2))} %`;
}

/** A limit as people read it: 40 %, or 64 GiB and 32 cores; empty where there is none. */
export function limitWord(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") return Object.values(value as object).filter((one) => one !== null).map((one) => limitWord(one)).join(", ");
  const found = amountOf(value);
  return found && !found.units && typeof value !== "string" ? shareWord(found.share) : String(value);
}

/** What somebody typed into a field for a share: 40%, 40 %, 0.4 or an amount; undefined for nothing. */
export function typed(text: string): string | number | undefined {
  const trimmed = text.trim();
  if (!trimmed) return undefined;
  const number = Number(trimmed);
  if (Number.isFinite(number)) return number;
  return /^[\d.]+ *%$/.test(trimmed) ? trimmed.replace(/ +/g, "") : trimmed;
}
