/** A log as the viewer holds it: bytes so far, cut into lines, bounded. Pure. */
import type { LogPart, MergedLog } from "../../api/types";

export const KEEP_LINES = 50_000;

export interface LogState {
  /** Where the next read goes on; empty before the first. */
  cursor: string;
  lines: string[];
  /** Of each line, whether it was written to stderr. */
  onStderr: boolean[];
  /** Of each stream, the number of its last line when that has no newline yet. */
  open: Partial<Record<LogPart["stream"], number>>;
  /** Bytes the node dropped because the log was full. */
  skipped: number;
  /** Lines dropped here because the viewer keeps the last 50,000. */
  trimmed: number;
  complete: boolean;
}

export const EMPTY: LogState = { cursor: "", lines: [], onStderr: [], open: {}, skipped: 0, trimmed: 0, complete: false };

// Colours and cursor moves of terminals; what a log says is shown, not what it does to a screen.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Text as it is shown. */
export const plain = (text: string): string => text.replace(ESCAPES, "");

/** Take in what was read at the cursor `from`; what was read elsewhere (a repeated answer) changes nothing. */
export function append(log: LogState, page: MergedLog, from: string): LogState {
  if (from !== log.cursor) return log;
  const next: LogState = { ...log, cursor: page.next, complete: page.complete };
  if (page.pieces.length === 0) return next;
  next.lines = [...log.lines];
  next.onStderr = [...log.onStderr];
  next.open = { ...log.open };
  for (const part of page.pieces) take(next, part);
  const over = next.lines.length - KEEP_LINES;
  if (over <= 0) return next;
  const open: LogState["open"] = {};
  for (const [stream, at] of Object.entries(next.open)) if (at >= over) open[stream as LogPart["stream"]] = at - over;
  return { ...next, lines: next.lines.slice(over), onStderr: next.onStderr.slice(over), open, trimmed: next.trimmed + over };
}

/** Put a piece's lines where they belong; a line that was cut is finished where it began. */
function take(log: LogState, part: LogPart): void {
  const push = (text: string) => {
    log.onStderr.push(part.stream === "stderr");
    return log.lines.push(text) - 1;
  };
  if (part.skipped > 0) {
    push(`··· ${part.skipped.toLocaleString("en-US")} bytes were not kept ···`);
    log.skipped += part.skipped;
    delete log.open[part.stream];
  }
  if (part.data === "") return;
  const texts = part.data.replace(/\r\n/g, "\n").split("\n").map(plain);
  texts.forEach((text, i) => {
    const last = i === texts.length - 1; // what follows the last newline
    if (last && text === "") return;
    const at = log.open[part.stream];
    if (at === undefined) log.open[part.stream] = push(text);
    else log.lines[at] += text;
    if (!last) delete log.open[part.stream];
  });
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
