/** What a tab keeps over a reload, by the account that wrote it and a name. A store that is full or forbidden keeps nothing. */

/** Read anew each time, within what may fail: where it is forbidden, already asking for it does. */
export type Store = () => Storage;

export const TAB: Store = () => sessionStorage;
const OURS = "hydra.kept.";
const keyOf = (account: string, name: string): string => `${OURS}${account}/${name}`;

export function load(store: Store, account: string, name: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(store().getItem(keyOf(account, name)) ?? "null");
    return typeof found === "object" && !Array.isArray(found) ? (found as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** False when the browser does not keep it. */
export function save(store: Store, account: string, name: string, value: object): boolean {
  try {
    store().setItem(keyOf(account, name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function clear(store: Store, account: string, name: string): void {
  try {
    store().removeItem(keyOf(account, name));
  } catch {
    // Nothing could be kept, so there is nothing to forget.
  }
}

/** Away with all that was not written by `account`: whoever has the tab now has no business with it. */
export function forgetOthers(store: Store, account: string | null): void {
  try {
    const held = store();
    const keys = Array.from({ length: held.length }, (_, i) => held.key(i) ?? "");
    for (const key of keys) if (key.startsWith(OURS) && !(account && key.startsWith(keyOf(account, "")))) held.removeItem(key);
  } catch {
    // As above.
  }
}
