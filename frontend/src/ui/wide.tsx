import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

/** A table that may be wider than the screen: it scrolls by itself, by keyboard as well. */
export function Wide({ children }: { children: ReactNode }) {
  const ref = useRef<HTMLDivElement>(null);
  const [wider, setWider] = useState(false);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const look = () => setWider(box.scrollWidth > box.clientWidth + 1);
    look();
    const watch = new ResizeObserver(look);
    watch.observe(box);
    if (box.firstElementChild) watch.observe(box.firstElementChild);
    return () => watch.disconnect();
  }, []);
  return <div ref={ref} className="table-wrap" {...(wider && { tabIndex: 0, role: "group", "aria-label": "Scrolls sideways" })}>{children}</div>;
}
