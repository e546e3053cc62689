/** What is chosen on the page, as its address says it, so that a link shows the same. */
import { CHOICES, SCALES, SORTS, type Scale, type Sort } from "./tree";
import { hydractl } from "../../format/shell";
import { command as used, daysOf } from "../usage/ledger";

export const TABS = ["tree", "matrix", "use"] as const;
export type Tab = (typeof TABS)[number];

export interface View {
  tab: Tab;
  resource: string;
  /** One sub-cluster, or "" for all together. */
  place: string;
  search: string;
  sort: Sort;
  /** What the bars of the tree are drawn against. */
  scale: Scale;
  toggled: ReadonlySet<string>;
  /** The queue whose details are open, or "". */
  queue: string;
  /** The branch that the matrix shows. */
  under: string;
  partition: string;
  skip: number;
  /** Of use: days, whose, of which queue, and of jobs of which tag. */
  days: number;
  owner: string;
  of: string;
  tag: string;
}

export function fromSearch(search: string): View {
  const p = new URLSearchParams(search);
  const one = <T extends string>(name: string, of: readonly T[]): T => of.find((v) => v === p.get(name)) ?? of[0]!;
  const skip = Number(p.get("skip"));
  return {
    tab: one("tab", TABS), resource: one("resource", CHOICES), sort: one("sort", SORTS), scale: one("bars", SCALES),
    place: p.get("at") ?? "", search: p.get("q") ?? "", queue: p.get("queue") ?? "",
    under: p.get("under") ?? "root", partition: p.get("partition") ?? "",
    toggled: new Set((p.get("toggled") ?? "").split(",").filter(Boolean)),
    skip: Number.isInteger(skip) && skip > 0 ? skip : 0,
    days: daysOf(p.get("days")), owner: p.get("owner")?.trim() ?? "", of: p.get("of") ?? "", tag: p.get("tag") ?? "",
  };
}

export function toSearch(view: View): string {
  const p = new URLSearchParams();
  const put = (name: string, value: string, usual: string) => { if (value !== usual) p.set(name, value); };
  put("tab", view.tab, "tree");
  put("resource", view.resource, "dominant");
  put("at", view.place, "");
  put("q", view.search, "");
  put("sort", view.sort, "tree");
  put("bars", view.scale, "all");
  put("toggled", [...view.toggled].join(","), "");
  put("under", view.under, "root");
  put("partition", view.partition, "");
  put("skip", String(view.skip), "0");
  put("days", String(view.days), "7");
  put("owner", view.owner, "");
  put("of", view.of, "");
  put("tag", view.tag, "");
  put("queue", view.queue, "");
  return p.toString();
}

/** Some names, or how many they are where a line cannot hold them. */
export function named(names: string[]): string {
  return names.length > 4 ? `${names.length} sub-clusters` : names.join(", ");
}

/** The same view from a shell. */
export function command(view: View): string {
  if (view.tab === "use") return used({ days: view.days, owner: view.owner, queue: view.of, tag: view.tag }, ...(view.tag ? ["--tag", view.tag] : []));
  if (view.tab === "tree") return hydractl("queues", "--tree", ...(view.place ? ["--sub-cluster", view.place] : []));
  const under = view.under === "root" ? [] : ["--under", view.under];
  return hydractl("queues", "--matrix", ...under, ...(view.resource === "dominant" ? [] : ["--resource", view.resource]));
}
