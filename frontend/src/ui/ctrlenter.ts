/** Ctrl+Enter sends what is written, wherever on the page the focus is. */
import { useEffect, useRef } from "react";

/** Not what a field took for itself. `elsewhere`: whether a dialog is open, or a link has the focus, which then opens in another tab. */
export function sends(e: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "defaultPrevented">, elsewhere: boolean): boolean {
  return e.key === "Enter" && (e.ctrlKey || e.metaKey) && !e.defaultPrevented && !elsewhere;
}

export function useCtrlEnter(send: () => void): void {
  const latest = useRef(send);
  latest.current = send;
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const link = e.target instanceof Element && e.target.closest("a[href]") !== null;
      if (!sends(e, link || document.querySelector("dialog[open]") !== null)) return;
      e.preventDefault();
      latest.current();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}
