/** Text that is not pushed yet: one of each account. It survives a reload of the tab, and knows which version it was made from. */

export interface Draft {
  text: string;
  base: number;
  savedAt: number;
}

const keyOf = (account: string): string => `hydra.policy.draft.${account}`;

export function load(store: Storage, account: string): Draft | null {
  try {
    const found: unknown = JSON.parse(store.getItem(keyOf(account)) ?? "null");
    if (typeof found !== "object" || found === null) return null;
    const { text, base, savedAt } = found as Partial<Draft>;
    return typeof text === "string" && typeof base === "number" && typeof savedAt === "number" ? { text, base, savedAt } : null;
  } catch {
    return null;
  }
}

/** False when the browser does not keep it: its store is full or forbidden. */
export function save(store: Storage, account: string, draft: Draft): boolean {
  try {
    store.setItem(keyOf(account), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

export function clear(store: Storage, account: string): void {
  try {
    store.removeItem(keyOf(account));
  } catch {
    // Nothing could be kept, so there is nothing to forget.
  }
}
