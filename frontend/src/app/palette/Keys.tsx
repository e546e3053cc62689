/** Keys that work on every page, and the dialogs they open. Both dialogs are loaded when first wanted. */
import { lazy, Suspense, useEffect, useRef, useState, type Dispatch, type SetStateAction } from "react";
import { useLocation } from "wouter";
import type { Me } from "../../api/types";
import { Search } from "../../ui/icons";
import { pagesFor } from "../pages";
import { act, ahead, type Press } from "./keys";

const Palette = lazy(() => import("./Palette"));
const Help = lazy(() => import("./Help"));
const PREFIX_MS = 1_200;

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** The page's own search field: the first one that is shown. */
function focusSearch(): boolean {
  const fields = document.querySelectorAll<HTMLInputElement>("#main [role=search] input, #main input[type=search], #main [data-search]");
  const field = [...fields].find((f) => f.offsetParent !== null);
  field?.focus();
  field?.select();
  return field !== undefined;
}

/** at: tells one opening from the next, so that one dialog's late end does not end another. early: what was typed before it was there. */
export type Opened = { dialog: "palette" | "help"; at: number; early: Early } | null;
const opening = (dialog: "palette" | "help"): Opened => ({ dialog, at: performance.now(), early: { text: "", there: false } });

export interface Early { text: string; there: boolean }

/** The palette; one that is still loaded keeps what was typed. */
export const openPalette = (now: Opened): Opened => (awaited(now) ? now : opening("palette"));

const awaited = (now: Opened): now is NonNullable<Opened> => now?.dialog === "palette" && !now.early.there;

/** What is typed while the palette is still loaded is its own, and nobody else's. */
function takenEarly(early: Early, press: Press, giveUp: () => void): boolean {
  const found = ahead(early.text, press);
  if (found === "given up") giveUp();
  else if (found !== null) early.text = found.typed;
  return found !== null;
}

/** Listens for as long as somebody is signed in. */
export function useKeys(me: Me): [Opened, Dispatch<SetStateAction<Opened>>] {
  const [opened, setOpened] = useState<Opened>(null);
  const [, go] = useLocation();
  const prefixAt = useRef(-PREFIX_MS);
  const newest = useRef(opened);
  newest.current = opened;
  useEffect(() => {
    const pages = new Map(pagesFor(me.role).map((p) => [p.key, p.to]));
    const pressed = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.isComposing) return;
      const press = { key: e.key, ctrl: e.ctrlKey, meta: e.metaKey, alt: e.altKey, typing: typing(e.target), dialog: document.querySelector("dialog[open]") !== null };
      if (awaited(newest.current) && takenEarly(newest.current.early, press, () => setOpened(null))) return e.preventDefault();
      const after = performance.now() - prefixAt.current < PREFIX_MS;
      const found = act(press, after, pages);
      prefixAt.current = found === "prefix" ? performance.now() : -PREFIX_MS;
      if (found === null || found === "prefix") return;
      if (found === "search") {
        if (!focusSearch()) return;
      } else if (typeof found === "object") go(found.go);
      else setOpened(opening(found));
      e.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [me.role, go]);
  return [opened, setOpened];
}

export function Dialogs({ me, opened, setOpened }: { me: Me; opened: Opened; setOpened: Dispatch<SetStateAction<Opened>> }) {
  if (opened === null) return null;
  const close = () => setOpened((now) => (now === opened ? null : now)); // one that closes may have opened the other
  return (
    <Suspense key={opened.at}>
      {opened.dialog === "palette" ? <Palette me={me} early={opened.early} onClose={close} onHelp={() => setOpened(opening("help"))} /> : <Help me={me} onClose={close} />}
    </Suspense>
  );
}

const MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function FindButton({ onOpen }: { onOpen: () => void }) {
  return (
    <button type="button" className="find" onClick={onOpen} aria-haspopup="dialog" aria-keyshortcuts="Control+K Meta+K" title="Find a page, job, queue, node or action">
      <Search /><span>Find</span><kbd aria-hidden="true">{MAC ? "⌘K" : "Ctrl K"}</kbd>
    </button>
  );
}
