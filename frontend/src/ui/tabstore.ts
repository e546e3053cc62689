/** What a tab keeps over a reload, by the account that wrote it and a name. A store that is full or forbidden keeps nothing. */

const OURS = "hydra.kept.";
const keyOf = (account: string, name: string): string => `${OURS}${account}/${name}`;

export function load(store: Storage, account: string, name: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(store.getItem(keyOf(account, name)) ?? "null");
    return typeof found === "object" && !Array.isArray(found) ? (found as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** False when the browser does not keep it. */
export function save(store: Storage, account: string, name: string, value: object): boolean {
  try {
    store.setItem(keyOf(account, name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function clear(store: Storage, account: string, name: string): void {
  try {
    store.removeItem(keyOf(account, name));
  } catch {
    // Nothing could be kept, so there is nothing to forget.
  }
}

/** Away with all that was not written by `account`: whoever has the tab now has no business with it. */
export function forgetOthers(store: Storage, account: string | null): void {
  try {
    const keys = Array.from({ length: store.length }, (_, i) => store.key(i) ?? "");
    for (const key of keys) if (key.startsWith(OURS) && !(account && key.startsWith(keyOf(account, "")))) store.removeItem(key);
  } catch {
    // As above.
  }
}
