/** The job list's filters live in the address, so that a link shares the exact view. */

export const FILTERS = ["state", "queue", "owner", "tag", "name", "kind"] as const;
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

export function command(filters: Filters): string {
  const flags = FILTERS.filter((n) => filters[n]).map((n) => `--${n} ${quote(filters[n] ?? "")}`);
  return ["hydractl jobs", ...flags].join(" ");
}

/** As a shell takes it literally. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
