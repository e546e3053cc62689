/** The job list's filters live in the address, so that a link shares the exact view. */
import { localInput } from "../../format/units";
import { hydractl } from "../../format/shell";

const FILTERS = ["state", "queue", "owner", "tag", "name", "kind", "node", "since", "until", "order"] as const;
export type FilterName = (typeof FILTERS)[number];
export type Filters = Partial<Record<FilterName, string>>;

export function fromSearch(search: string): Filters {
  const params = new URLSearchParams(search);
  const found: Filters = {};
  for (const name of FILTERS) {
    const value = params.get(name)?.trim();
    if (value) found[name] = value;
  }
  return found;
}

/** Always in the same order, so that equal filters make one topic. */
export function toQuery(filters: Filters): string {
  const params = new URLSearchParams();
  for (const name of FILTERS) {
    const value = filters[name];
    if (value) params.set(name, value);
  }
  return params.toString();
}

/** The topic whose snapshot is the first page under these filters. */
export function topic(filters: Filters): string {
  const query = toQuery(filters);
  return query ? `jobs?${query}` : "jobs";
}

/** more: further words. */
export function command(filters: Filters, more: string[] = []): string {
  return hydractl("jobs", ...FILTERS.filter((n) => filters[n]).flatMap((n) => [`--${n}`, filters[n]]), ...more);
}

/** What keeps the view under a name from a shell. */
export function saveCommand(name: string, filters: Filters): string {
  return hydractl("views", "save", name, ...FILTERS.filter((n) => filters[n]).map((n) => `${n}=${filters[n]}`));
}

/** Where the list stands: the cursor of a page that is not the first, from the address or from a page's link. */
export function cursorOf(address: string | null | undefined): string {
  if (!address) return "";
  return new URLSearchParams(address.slice(address.indexOf("?") + 1)).get("cursor") ?? "";
}

/** The address of the list under these filters, from that page on. look: what it says of columns and sorting. */
export function address(filters: Filters, cursor = "", look = ""): string {
  const query = toQuery(filters);
  const at = cursor ? `cursor=${encodeURIComponent(cursor)}` : "";
  const search = [query, look, at].filter(Boolean).join("&");
  return search ? `/jobs?${search}` : "/jobs";
}

/** A time as `<input type="datetime-local">` holds it, in the reader's zone; "" for none. */
export function toInput(iso: string | undefined): string {
  const at = iso ? new Date(iso) : null;
  return !at || Number.isNaN(at.getTime()) ? "" : localInput(at);
}

/** The same moment in UTC, as addresses and `hydractl` write it. */
export function fromInput(local: string): string {
  const at = local ? new Date(local) : null;
  return !at || Number.isNaN(at.getTime()) ? "" : `${at.toISOString().slice(0, 16)}Z`;
}

/** Jobs that `may` be changed and have not ended, of those that are picked on this page. */
export function picked<T extends { id: number }>(jobs: T[], ids: ReadonlySet<number>): T[] {
  return jobs.filter((job) => ids.has(job.id));
}
