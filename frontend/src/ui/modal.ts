/** A dialog that holds the focus while it is shown, and gives it back to whatever opened it, or to the page where that is gone, unless something else has taken it. */
import { useEffect, useRef, type RefObject } from "react";

export function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      setTimeout(() => {
        if (document.activeElement !== document.body || dialog?.isConnected) return;
        const there = before instanceof HTMLElement && before !== document.body && before.isConnected;
        (there ? before : document.getElementById("main"))?.focus({ preventScroll: !there });
      });
    };
  }, []);
  return ref;
}
