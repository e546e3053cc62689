/** xterm on an element: its size follows the element's, its colours the page's, and the keyboard can leave it. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal, type ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef, type RefObject } from "react";

const FONT_PX = 13;
const CONTRAST = 4.5; // of text to what is behind it, whatever colours a program chooses

export interface ScreenOptions {
  /** Every line as text that screen readers find, and what is written is said. */
  readsAloud: boolean;
  /** Keys go to somebody. */
  live: boolean;
  describedBy: string;
  onInput: (bytes: Uint8Array) => void;
  onSize: (rows: number, columns: number) => void;
}

function theme(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  const [background, foreground, accent] = [of("--sunken"), of("--text"), of("--accent")];
  return { background, foreground, cursor: accent, cursorAccent: background, selectionBackground: of("--line-strong") };
}

/** Escape, then Tab: the second of them is the page's. Without anybody to read keys Tab always is. */
function letsLeave(terminal: Terminal, options: RefObject<ScreenOptions>): void {
  let escaped = false;
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type !== "keydown" || event.key === "Shift") return true;
    const leaves = event.key === "Tab" && (escaped || !options.current.live);
    escaped = event.key === "Escape";
    return !leaves;
  });
}

function made(box: HTMLElement, options: RefObject<ScreenOptions>): { terminal: Terminal; fit: FitAddon } {
  const style = getComputedStyle(document.documentElement);
  const terminal = new Terminal({
    fontFamily: style.getPropertyValue("--mono"), fontSize: FONT_PX, minimumContrastRatio: CONTRAST, scrollback: 5_000, theme: theme(),
    screenReaderMode: options.current.readsAloud,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(box);
  terminal.textarea?.setAttribute("aria-describedby", options.current.describedBy);
  letsLeave(terminal, options);
  const text = new TextEncoder();
  terminal.onData((data) => options.current.onInput(text.encode(data)));
  terminal.onBinary((data) => options.current.onInput(Uint8Array.from(data, (character) => character.charCodeAt(0))));
  terminal.onResize(({ rows, cols }) => options.current.onSize(rows, cols));
  return { terminal, fit };
}

/** The terminal in `box`, from the first layout on. */
export function useScreen(box: RefObject<HTMLElement | null>, given: ScreenOptions): RefObject<Terminal | null> {
  const terminal = useRef<Terminal | null>(null);
  const options = useRef(given);
  options.current = given;
  const scheme = useComputedColorScheme();
  useEffect(() => {
    if (!box.current) return;
    const { terminal: opened, fit } = made(box.current, options);
    terminal.current = opened;
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(box.current);
    fit.fit();
    return () => {
      observer.disconnect();
      opened.dispose();
      terminal.current = null;
    };
  }, [box]);
  useEffect(() => {
    if (!terminal.current) return;
    terminal.current.options.screenReaderMode = given.readsAloud;
    terminal.current.options.disableStdin = !given.live;
    terminal.current.options.theme = theme();
  }, [given.readsAloud, given.live, scheme]);
  return terminal;
}
