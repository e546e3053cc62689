/** A log as the viewer holds it: bytes so far, cut into lines, bounded. Pure. */
import type { LogPiece } from "../../api/types";

export const KEEP_LINES = 50_000;

export interface LogState {
  /** Where the next read starts, in bytes of the stream. */
  offset: number;
  lines: string[];
  /** The last line has no newline yet. */
  open: boolean;
  /** Bytes the node dropped because the log was full. */
  skipped: number;
  /** Lines dropped here because the viewer keeps the last 50,000. */
  trimmed: number;
  complete: boolean;
}

export const EMPTY: LogState = { offset: 0, lines: [], open: false, skipped: 0, trimmed: 0, complete: false };

// Colours and cursor moves of terminals; what a log says is shown, not what it does to a screen.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Take in a piece; one that was already taken in (a repeated answer) changes nothing. */
export function append(log: LogState, piece: LogPiece): LogState {
  const stale = piece.next_offset < log.offset || (piece.next_offset === log.offset && piece.data !== "");
  if (stale) return log;
  const fresh = piece.data === "" ? [] : piece.data.replace(/\r\n/g, "\n").split("\n");
  const lines = fresh.length ? [...log.lines] : log.lines;
  if (piece.skipped > 0) lines.push(`··· ${piece.skipped.toLocaleString("en-US")} bytes were not kept ···`);
  fresh.forEach((text, i) => {
    const clean = text.replace(ESCAPES, "");
    if (i === 0 && log.open && lines.length && piece.skipped === 0) lines[lines.length - 1] += clean;
    else lines.push(clean);
  });
  const open = fresh.length ? fresh.at(-1) !== "" : log.open;
  if (fresh.length && !open) lines.pop();
  const over = Math.max(0, lines.length - KEEP_LINES);
  return {
    offset: Math.max(log.offset, piece.next_offset), lines: over ? lines.slice(over) : lines, open,
    skipped: log.skipped + piece.skipped, trimmed: log.trimmed + over, complete: piece.complete,
  };
}

/** Numbers of the lines that hold `needle`, whatever the case. */
export function matches(lines: string[], needle: string): number[] {
  if (!needle) return [];
  const low = needle.toLowerCase();
  return lines.flatMap((line, i) => (line.toLowerCase().includes(low) ? [i] : []));
}

/** A line cut into parts, every second of which is a match. */
export function cut(line: string, needle: string): string[] {
  if (!needle) return [line];
  const parts: string[] = [];
  const low = line.toLowerCase();
  const find = needle.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(find); at >= 0; at = low.indexOf(find, from)) {
    parts.push(line.slice(from, at), line.slice(at, at + find.length));
    from = at + find.length;
  }
  return [...parts, line.slice(from)];
}
