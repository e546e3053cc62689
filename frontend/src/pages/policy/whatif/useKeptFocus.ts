/** Whoever works by keyboard stays where they were, although the button that was pressed has gone. */
import { useEffect, useRef, type FocusEvent } from "react";

/** `what`: buttons come and go when it changes. For the element around them. */
export function useKeptFocus(what: string) {
  const ref = useRef<HTMLDivElement>(null);
  const within = useRef(false);
  useEffect(() => {
    if (within.current && document.activeElement === document.body) ref.current?.focus({ preventScroll: true });
  }, [what]);
  return {
    ref, tabIndex: -1,
    onFocus: () => { within.current = true; },
    onBlur: (e: FocusEvent) => { if (e.relatedTarget) within.current = false; },
  };
}
