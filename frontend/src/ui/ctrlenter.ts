/** Ctrl+Enter sends what is written, wherever on the page the focus is. */
import { useEffect, useRef } from "react";

/** Not what a field took for itself. `elsewhere`: whether a dialog is open, or a link or button has the focus, which then does what it does. */
export function sends(e: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "defaultPrevented" | "repeat">, elsewhere: boolean): boolean {
  return e.key === "Enter" && (e.ctrlKey || e.metaKey) && !e.defaultPrevented && !e.repeat && !elsewhere;
}

export function useCtrlEnter(send: () => void): void {
  const latest = useRef(send);
  latest.current = send;
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const own = e.target instanceof Element && e.target.closest("a[href], button, summary") !== null;
      if (!sends(e, own || document.querySelector("dialog[open]") !== null)) return;
      e.preventDefault();
      latest.current();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}
