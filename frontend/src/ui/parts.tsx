/** Parts every page is made of: states, notices, the four faces of a view, a command to copy. */
import { Button } from "@mantine/core";
import { useEffect, useState, type ReactNode } from "react";
import { withFields, type ApiError } from "../api/client";
import { coarse } from "../format/units";
import { tone, word } from "../format/states";
import { useModal } from "./modal";
import { Check, Copy, ToneIcon, Warning } from "./icons";

export function State({ state }: { state: string }) {
  const kind = tone(state);
  return (
    <span className={`state tone-${kind}`} data-state={state}>
      <ToneIcon tone={kind} />
      <span>{word(state)}</span>
    </span>
  );
}

export function Card({ title, aside, children, label, flush }: {
  title?: ReactNode; aside?: ReactNode; children: ReactNode; label?: string; flush?: boolean;
}) {
  return (
    <section className="card" aria-label={label ?? (typeof title === "string" ? title : undefined)}>
      {title !== undefined && (
        <header>
          <h2 className="grow">{title}</h2>
          {aside}
        </header>
      )}
      {flush ? children : <div className="body">{children}</div>}
    </section>
  );
}

export function Notice({ kind, children, icon }: { kind?: "warn" | "bad"; children: ReactNode; icon?: ReactNode }) {
  return (
    <div className={`notice ${kind ?? ""}`} role={kind === "bad" ? "alert" : "status"}>
      {icon ?? <Warning />}
      <div className="grow">{children}</div>
    </div>
  );
}

export function Loading({ lines = 4, label = "Loading" }: { lines?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="blank">
      {Array.from({ length: lines }, (_, i) => (
        <svg key={i} className="skeleton" width={`${92 - ((i * 17) % 40)}%`} height="14" aria-hidden="true" />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="blank">
      <strong>{title}</strong>
      {children && <div>{children}</div>}
    </div>
  );
}

export function Failed({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <Notice kind="bad">
      <strong>{error.title}</strong>
      {error.detail && <div>{error.detail}</div>}
      {retry && <Button size="compact-sm" variant="default" mt={8} onClick={retry}>Try again</Button>}
    </Notice>
  );
}

/** What is shown is old: says how old, and that it is still being tried. */
export function Stale({ since, now, why }: { since: number; now: number; why?: string }) {
  return (
    <Notice kind="warn">
      <strong>Stale since {coarse(now - since)}.</strong> {why ?? "What follows is the last that was known; it is read again as soon as Hydra answers."}
    </Notice>
  );
}

export function Command({ text, label = "Copy as hydractl command" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const id = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(id);
  }, [copied]);
  return (
    <span className="command">
      <code>{text}</code>
      <button type="button" className="icon-button" title={label} aria-label={`${label}: ${text}`}
        onClick={() => void copyText(text).then(setCopied)}>
        {copied ? <Check /> : <Copy />}
      </button>
      <span className="sr" role="status">{copied ? "Copied" : ""}</span>
    </span>
  );
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no clipboard without https or localhost; the text can be selected
  }
}

export function Confirm({ title, children, action, onConfirm, onClose, busy, error, ready = true }: {
  title: string; children: ReactNode; action: string; onConfirm: () => void; onClose: () => void; busy: boolean; error: ApiError | null;
  /** What it needs to know is known. */
  ready?: boolean;
}) {
  const ref = useModal();
  return (
    <dialog ref={ref} className="ask" aria-label={title} onClose={onClose}>
      <form method="dialog" onSubmit={(e) => { e.preventDefault(); onConfirm(); }}>
        <h2>{title}</h2>
        {children}
        {error && <Failed error={withFields(error)} />}
        <div className="actions">
          <Button variant="default" onClick={onClose}>Cancel</Button>
          <Button type="submit" loading={busy} disabled={!ready}>{action}</Button>
        </div>
      </form>
    </dialog>
  );
}

/** The time, again every `everyMs`, for ages that grow on the screen. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const id = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(id);
  }, [everyMs]);
  return now;
}
