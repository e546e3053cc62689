/** Which key presses mean something on every page. Pure, so that they can be tested without a browser. */

export type Act = { go: string } | "palette" | "help" | "search" | "prefix" | null;

export interface Press {
  key: string;
  ctrl: boolean;
  meta: boolean;
  alt: boolean;
  /** Whether a field that takes text has the focus. */
  typing: boolean;
  /** Whether a dialog is open. */
  dialog: boolean;
}

const opens = (press: Press) => (press.ctrl || press.meta) && !press.alt && press.key.toLowerCase() === "k";

/** What has been typed into a palette that is still to come, after one more key; null where the key is not for it. */
export function ahead(typed: string, press: Press): { typed: string } | "given up" | null {
  if (press.dialog) return null;
  if (opens(press) || press.key === "Enter") return { typed };
  if (press.ctrl || press.meta || press.alt) return null;
  if (press.key === "Escape") return "given up";
  if (press.key === "Backspace") return { typed: typed.slice(0, -1) };
  return press.key.length === 1 ? { typed: typed + press.key } : null;
}

/** `after`: whether `g` was pressed a moment ago. `pages`: key -> address. */
export function act(press: Press, after: boolean, pages: ReadonlyMap<string, string>): Act {
  if (opens(press)) return press.dialog ? null : "palette";
  if (press.ctrl || press.meta || press.alt || press.typing || press.dialog) return null;
  if (after) {
    const to = pages.get(press.key);
    return to === undefined ? null : { go: to };
  }
  if (press.key === "g") return "prefix";
  if (press.key === "?") return "help";
  return press.key === "/" ? "search" : null;
}
