/** What is kept in this tab, such as what is written and not sent yet: leaving the page, or a reload, loses nothing. */
import { useCallback, useState } from "react";

export interface Kept<T> {
  value: T;
  set: (next: T) => void;
  /** It was written before the page was opened. */
  found: boolean;
  /** It was sent: nothing is kept any more. */
  forget: () => void;
  /** Away with it. */
  anew: () => void;
}

const keyOf = (name: string): string => `hydra.kept.${name}`;

export function load<T>(name: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(name)) ?? "null") as T | null;
  } catch {
    return null;
  }
}

export function save(name: string, text: string | null): void {
  try {
    if (text === null) sessionStorage.removeItem(keyOf(name));
    else sessionStorage.setItem(keyOf(name), text);
  } catch {
    // The browser keeps nothing, and says so to nobody: what is written is on the screen.
  }
}

/** `name`: of the account and of what is written. `fresh`: it begins with `start`, whatever was kept. */
export function useKept<T extends object>(name: string, start: T, fresh = false): Kept<T> {
  const [began] = useState(() => (fresh ? null : load<T>(name)));
  const [found, setFound] = useState(began !== null);
  const [value, setValue] = useState<T>(began ?? start);
  const [first] = useState(() => JSON.stringify(start));
  const set = useCallback((next: T) => {
    const text = JSON.stringify(next);
    setValue(next);
    save(name, text === first ? null : text);
  }, [name, first]);
  const forget = useCallback(() => save(name, null), [name]);
  const anew = useCallback(() => {
    save(name, null);
    setFound(false);
    setValue(JSON.parse(first) as T);
  }, [name, first]);
  return { value, set, found, forget, anew };
}
