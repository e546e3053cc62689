/** Text that is not pushed yet: one of each account. It survives a reload of the tab, and knows which version it was made from. */
import * as tab from "../../../ui/tabstore";

const NAME = "policy";

export interface Draft {
  text: string;
  base: number;
  savedAt: number;
}

export function load(store: tab.Store, account: string): Draft | null {
  const { text, base, savedAt } = (tab.load(store, account, NAME) ?? {}) as Partial<Draft>;
  return typeof text === "string" && typeof base === "number" && typeof savedAt === "number" ? { text, base, savedAt } : null;
}

/** False when the browser does not keep it. */
export function save(store: tab.Store, account: string, draft: Draft): boolean {
  return tab.save(store, account, NAME, draft);
}

export function clear(store: tab.Store, account: string): void {
  tab.clear(store, account, NAME);
}
