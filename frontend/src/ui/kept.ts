/** What is written and not sent yet is kept in this tab: leaving the page, or a reload, loses nothing. */
import { useCallback, useState } from "react";
import { clear, load, save, TAB } from "./tabstore";

export interface Kept<T> {
  value: T;
  set: (next: T) => void;
  /** It was written before the page was opened. */
  found: boolean;
  /** The revision that it was written for. */
  of: number;
  /** The browser keeps nothing: a reload would lose it. */
  unkept: boolean;
  /** It was sent: nothing is kept any more. */
  forget: () => void;
  /** Away with it. */
  anew: () => void;
}

interface Options {
  /** The revision of what is changed by it. */
  of?: number;
  /** It begins with `start`, which was handed over, and what was kept stays until something is written. */
  fresh?: boolean;
}

/** `name`: of what is written, by `account`. */
export function useKept<T extends object>(account: string, name: string, start: T, { of = 0, fresh = false }: Options = {}): Kept<T> {
  const [began] = useState(() => (fresh ? null : load(TAB, account, name)));
  const [found, setFound] = useState(began !== null);
  const [writtenFor, setWrittenFor] = useState(typeof began?.of === "number" ? began.of : of);
  const [value, setValue] = useState<T>({ ...start, ...(began?.value as Partial<T> | undefined) });
  const [unkept, setUnkept] = useState(false);
  const [first] = useState(() => JSON.stringify(start));
  const keep = useCallback((next: T) => setUnkept(!save(TAB, account, name, { of: writtenFor, value: next })), [account, name, writtenFor]);
  const set = useCallback((next: T) => {
    setValue(next);
    if (!fresh && JSON.stringify(next) === first) clear(TAB, account, name);
    else keep(next);
  }, [account, name, first, fresh, keep]);
  const forget = useCallback(() => {
    clear(TAB, account, name);
    setFound(false);
  }, [account, name]);
  const anew = useCallback(() => {
    forget();
    setWrittenFor(of);
    setValue(JSON.parse(first) as T);
  }, [forget, of, first]);
  return { value, set, found, of: writtenFor, unkept, forget, anew };
}
