/** A line of a log with what was found in it. */
import { cut } from "./log";

export function Marked({ line, needle }: { line: string; needle: string }) {
  return <>{cut(line, needle).map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part))}</>;
}
