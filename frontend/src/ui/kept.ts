/** What is written and not sent yet is kept in this tab: leaving the page, or a reload, loses nothing. */
import { useCallback, useEffect, useState } from "react";
import { clear, load, save } from "./tabstore";

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
  /** It begins with `start`, whatever was kept. */
  fresh?: boolean;
}

/** `name`: of what is written, by `account`. */
export function useKept<T extends object>(account: string, name: string, start: T, { of = 0, fresh = false }: Options = {}): Kept<T> {
  const [began] = useState(() => (fresh ? null : load(sessionStorage, account, name)));
  const [found, setFound] = useState(began !== null);
  const [writtenFor, setWrittenFor] = useState(typeof began?.of === "number" ? began.of : of);
  const [value, setValue] = useState<T>({ ...start, ...(began?.value as Partial<T> | undefined) });
  const [unkept, setUnkept] = useState(false);
  const [first] = useState(() => JSON.stringify(start));
  const keep = useCallback((next: T) => setUnkept(!save(sessionStorage, account, name, { of: writtenFor, value: next })), [account, name, writtenFor]);
  useEffect(() => { if (fresh) keep(start); }, []); // eslint-disable-line -- what was handed over once is there after a reload
  const set = useCallback((next: T) => {
    setValue(next);
    if (JSON.stringify(next) === first) clear(sessionStorage, account, name);
    else keep(next);
  }, [account, name, first, keep]);
  const forget = useCallback(() => {
    clear(sessionStorage, account, name);
    setFound(false);
  }, [account, name]);
  const anew = useCallback(() => {
    forget();
    setWrittenFor(of);
    setValue(JSON.parse(first) as T);
  }, [forget, of, first]);
  return { value, set, found, of: writtenFor, unkept, forget, anew };
}
