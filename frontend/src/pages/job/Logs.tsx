/** The live log: follows the end until scrolled away or paused, finds text, and can be saved. */
import { SegmentedControl } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { count } from "../../format/units";
import { Check, Download, LinkIcon, Pause, Play } from "../../ui/icons";
import { Empty, Failed, copyText } from "../../ui/parts";
import { Find, hitAt, useFind } from "./Find";
import { matches, type LogState } from "./log";
import { Marked } from "./Marked";
import { BOTH, STREAMS } from "./params";
import { useLog, type LogView } from "./useLog";

const LINE = 19; // px

const PHASES: Record<LogView["phase"], string> = {
  loading: "Reading", following: "Following", complete: "Complete", reconnecting: "Connection lost, trying again", failed: "Not available",
};

/** `address`: of this very stream, for others to open. */
export function Logs({ container, name, stream, choose, address }: { container: string; name: string; stream: string; choose: (stream: string) => void; address: string }) {
  const find = useFind();
  const { needle } = find;
  const [paused, setPaused] = useState(false);
  const view = useLog(container, stream);
  const frozen = useRef<LogState>(view.log);
  if (!paused) frozen.current = view.log;
  const log = frozen.current;
  const hits = useMemo(() => matches(log.lines, needle), [log.lines, needle]);
  const hit = hits[hitAt(find.at, hits.length) ?? -1];
  const behind = view.log.lines.length + view.log.trimmed - log.lines.length - log.trimmed;
  return (
    <div className="logs" aria-label="Log">
      <div className="logs-bar row wrap">
        <SegmentedControl size="xs" data={STREAMS} value={stream} onChange={choose} aria-label="Stream" />
        <span className="small muted" role="status" data-phase={view.phase}>{paused ? `Paused${behind ? `, ${count(behind)} new lines` : ""}` : PHASES[view.phase]}</span>
        <span className="grow" />
        <Find find={find} hits={hits.length} label="Find in the log" />
        <button type="button" className="icon-button" aria-pressed={paused} aria-label={paused ? "Go on" : "Pause"} title={paused ? "Go on" : "Pause"} onClick={() => setPaused(!paused)}>{paused ? <Play /> : <Pause />}</button>
        <LogLink address={address} />
        <button type="button" className="icon-button" aria-label="Save the log" title="Save the log" disabled={!log.lines.length} onClick={() => save(log, `${name}.${stream === BOTH ? "log" : stream}.txt`)}><Download /></button>
      </div>
      {view.phase === "failed" && view.error ? <div className="body"><Failed error={view.error} /></div> : <Lines key={stream} log={log} mixed={stream === BOTH} needle={needle} hit={hit} phase={view.phase} />}
      {(log.trimmed > 0 || log.skipped > 0) && (
        <div className="logs-foot small muted">
          {log.skipped > 0 && `${count(log.skipped)} bytes were not kept by the node. `}
          {log.trimmed > 0 && `${count(log.trimmed)} earlier lines are not shown.`}
        </div>
      )}
    </div>
  );
}

/** Shows the address in the browser's own field as well, for where there is no clipboard. */
function LogLink({ address }: { address: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [address]);
  return (
    <>
      <Link href={address} replace className="icon-button" aria-label="Link to this log" title="Link to this log" onClick={() => void copyText(window.location.origin + address).then(setCopied)}>{copied ? <Check /> : <LinkIcon />}</Link>
      <span className="sr" role="status">{copied ? "The link is copied" : ""}</span>
    </>
  );
}

/** `mixed`: lines of stderr are told from the others. */
function Lines({ log, mixed, needle, hit, phase }: { log: LogState; mixed: boolean; needle: string; hit: number | undefined; phase: LogView["phase"] }) {
  const box = useRef<HTMLDivElement>(null);
  const stick = useRef(true);
  const rows = useVirtualizer({ count: log.lines.length, getScrollElement: () => box.current, estimateSize: () => LINE, overscan: 20 });
  useEffect(() => {
    if (stick.current && log.lines.length && hit === undefined) rows.scrollToIndex(log.lines.length - 1, { align: "end" });
  }, [log.lines.length, hit, rows]);
  useEffect(() => {
    if (hit !== undefined) rows.scrollToIndex(hit, { align: "center" });
  }, [hit, rows]);
  if (log.lines.length === 0) {
    return <Empty title={phase === "complete" ? "It wrote nothing here" : phase === "loading" ? "Reading the log" : "Nothing yet"} />;
  }
  return (
    <div ref={box} className="lines" tabIndex={0} role="log" aria-label="Log lines" aria-live="off" data-testid="log"
      onScroll={(e) => { const el = e.currentTarget; stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < LINE * 2; }}>
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => (
          <div key={row.key} className="line" data-hit={row.index === hit} data-stderr={(mixed && log.onStderr[row.index]) || undefined} style={{ transform: `translateY(${row.start}px)` }}>
            <span className="no" aria-hidden="true">{row.index + 1 + log.trimmed}</span>
            {mixed && log.onStderr[row.index] && <span className="sr">stderr: </span>}
            <span><Marked line={log.lines[row.index] ?? ""} needle={needle} /></span>
          </div>
        ))}
      </div>
    </div>
  );
}

function save(log: LogState, name: string): void {
  const url = URL.createObjectURL(new Blob([log.lines.join("\n"), "\n"], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
