/** Which page an address belongs to, and what of it is the page's own. */

/** What follows `to` in `path`; null when `path` is not at or below it. The overview has nothing below it. */
export function restOf(path: string, to: string): string | null {
  if (path === to || path === `${to}/`) return "";
  if (to === "/" || !path.startsWith(`${to}/`)) return null;
  return path.slice(to.length + 1).replace(/\/+$/, "");
}

export function placeOf<T extends { to: string }>(pages: readonly T[], path: string): { page: T; rest: string } | null {
  for (const page of pages) {
    const rest = restOf(path, page.to);
    if (rest !== null) return { page, rest };
  }
  return null;
}
