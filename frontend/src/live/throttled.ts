/** A value that moves often, for what is dear to do anew. */
import { useEffect, useRef, useState } from "react";

/** The newest value, but a change shows only after `ms` without another showing. */
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, last.current + ms - Date.now());
    const id = setTimeout(() => { last.current = Date.now(); setShown(value); }, wait);
    return () => clearTimeout(id);
  }, [value, ms]);
  return shown;
}
