/** Numbers as people read them. Nothing here rounds a thing up to look better than it is. */

export function memory(mib: number): string {
  if (mib >= 1024 ** 3) return `${short(mib / 1024 ** 3)} PiB`;
  if (mib >= 1024 * 1024) return `${short(mib / 1024 / 1024)} TiB`;
  if (mib >= 1024) return `${short(mib / 1024)} GiB`;
  return `${Math.round(mib)} MiB`;
}

export function cores(milli: number): string {
  return short(milli / 1000);
}

export function coresWord(milli: number): string {
  return `${cores(milli)} ${milli === 1000 ? "core" : "cores"}`;
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let value = n;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${at === 0 ? value : short(value)} ${units[at]}`;
}

/** Up to three significant digits, without trailing zeros: 1.5, 12, 1,234. */
export function short(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** In thousands and millions where there are very many, so that columns stay narrow: 99,999, 154 k, 1.49 M. */
export function large(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3)).toLocaleString("en-US")} M`;
  return value >= 1e5 ? `${Math.floor(value / 1e3)} k` : short(value);
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** `1 job`, `2,000 jobs`. */
export function many(n: number, word: string): string {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const value = (100 * part) / whole;
  if (value > 0 && value < 1) return "<1 %";
  return `${Math.floor(value)} %`;
}

/** A duration in the two largest units that matter: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 4 d 3 h. */
export function duration(ms: number): string {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const [big, bigS, small, smallS] = s < 3600 ? ["min", 60, "s", 1] as const : s < 86_400 ? ["h", 3600, "min", 60] as const : ["d", 86_400, "h", 3600] as const;
  const rest = Math.floor((s % bigS) / smallS);
  return `${Math.floor(s / bigS)} ${big}${rest ? ` ${rest} ${small}` : ""}`;
}

export function ago(iso: string | null, now: number): string {
  if (!iso) return "–";
  const ms = now - Date.parse(iso);
  return ms < 5_000 ? "just now" : `${coarse(ms)} ago`;
}

/** One unit only: 8 s, 3 min, 2 h, 4 d. */
export function coarse(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

export function clock(iso: string): string {
  const at = new Date(iso);
  return at.toLocaleTimeString("en-GB", { hour12: false });
}

export function moment(iso: string | null): string {
  if (!iso) return "–";
  const at = new Date(iso);
  const day = at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return `${day}, ${at.toLocaleTimeString("en-GB", { hour12: false })}`;
}

export const two = (n: number): string => String(n).padStart(2, "0");

/** A moment as an input of type datetime-local holds it: the reader's zone, whole minutes. */
export function localInput(at: Date): string {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}
