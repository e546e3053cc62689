/** How the list is looked at: its columns and their order. In the address; the columns are kept for the next visit, too. */
import { COLUMNS, NAME } from "./columns";

export interface Look {
  /** Keys of columns, in the order of the table. */
  columns: string[];
  /** A column's key, with a "-" before it from the top down; "": as the server lists them. */
  sort: string;
}

/** Jobs of a page, as the server makes them. */
const PAGE = 50;
const KEPT = "hydra-job-columns";
export const USUAL = ["state", "tasks", "queue", "owner", "submitted", "took"];

function known(text: string | null): string[] | null {
  if (text === null) return null;
  const named = text.split(",");
  return COLUMNS.map(({ key }) => key).filter((key) => named.includes(key));
}

/** `kept`: what was kept of the columns, if anything. */
export function lookOf(search: string, kept: string | null): Look {
  const query = new URLSearchParams(search);
  const sort = query.get("sort") ?? "";
  const sorts = [NAME, ...COLUMNS].some(({ key }) => key === sort.replace(/^-/, ""));
  return { columns: known(query.get("columns")) ?? known(kept) ?? USUAL, sort: sorts ? sort : "" };
}

/** As a part of the address; what is left out is the usual. */
export function lookQuery(look: Look): string {
  const query = new URLSearchParams();
  if (look.columns.join() !== USUAL.join()) query.set("columns", look.columns.join());
  if (look.sort) query.set("sort", look.sort);
  return query.toString().replaceAll("%2C", ",");
}

/** From nothing to rising, to falling, and back to what the server says. */
export function nextSort(sort: string, key: string): string {
  return sort === key ? `-${key}` : sort === `-${key}` ? "" : key;
}

/** The same of a table of hydractl. */
export function lookWords({ columns, sort }: Look): string[] {
  const shell = (key: string) => [NAME, ...COLUMNS].find((column) => column.key === key)?.shell;
  const by = shell(sort.replace(/^-/, ""));
  const named = columns.flatMap((key) => shell(key) ?? []);
  return [
    ...(columns.join() === USUAL.join() ? [] : ["--columns", ["job", "name", ...named].join()]),
    // What is sorted are the jobs that are listed: as many as here.
    ...(by ? ["--limit", String(PAGE), `--sort=${sort.startsWith("-") ? "-" : ""}${by}`] : []),
  ];
}

/** A browser may refuse to keep anything; then the address alone says it. */
export function keptColumns(): string | null {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

export function keepColumns(columns: string[]): void {
  try {
    if (columns.join() === USUAL.join()) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, columns.join());
  } catch {
    // as above
  }
}
