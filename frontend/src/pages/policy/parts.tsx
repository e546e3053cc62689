/** Small pieces that several parts of the policy's pages share. */
import { TextInput } from "@mantine/core";
import { useEffect, useState, type ReactNode } from "react";
import type { ApiError } from "../../api/client";
import { Failed, Notice } from "../../ui/parts";
import type { Change } from "./types";

const MARKS = { high: "!!", medium: "!", low: "" } as const;
const GRAVITY = { high: "takes something away for good", medium: "lowers or withdraws something", low: "" } as const;

/** What changes, one a line; the grave ones say so. */
export function Changes({ changes, total, empty = "Nothing changes." }: { changes: Change[]; total?: number; empty?: string }) {
  const [all, setAll] = useState(false);
  if (!changes.length) return <p className="muted">{empty}</p>;
  const shown = all ? changes : changes.slice(0, 30);
  return (
    <>
      <ul className="policy-changes">
        {shown.map((change, n) => (
          <li key={n} data-severity={change.severity}>
            <span className="policy-mark" title={GRAVITY[change.severity]}>{MARKS[change.severity]}{GRAVITY[change.severity] && <span className="sr"> {GRAVITY[change.severity]}: </span>}</span>
            <span className="wrap-any">{change.text}</span>
          </li>
        ))}
      </ul>
      {!all && changes.length > shown.length && <button type="button" className="linkish" onClick={() => setAll(true)}>{changes.length - shown.length} more changes</button>}
      {total !== undefined && total > changes.length && <p className="muted small">and {total - changes.length} more that are not listed</p>}
    </>
  );
}

/** A refusal with every field it names. */
export function Refusal({ error }: { error: ApiError }) {
  if (!error.errors.length) return <Failed error={error} />;
  return (
    <Notice kind="bad">
      <strong>{error.detail || error.title}</strong>
      <ul className="policy-refusal">{error.errors.map((e, n) => <li key={n}><b>{e.field}</b> {e.message}{e.remedy ? `: ${e.remedy}` : ""}</li>)}</ul>
    </Notice>
  );
}

/** A field whose text is taken when it is left or Enter is pressed, so that a half-typed number is nobody's. */
export function Typed({ label, value, onCommit, placeholder, description, error, suffix, className, inputMode, disabled }: {
  label: string; value: string; onCommit: (text: string) => void; placeholder?: string; description?: ReactNode; error?: ReactNode; suffix?: string;
  className?: string; inputMode?: "decimal" | "numeric" | "text"; disabled?: boolean;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const commit = () => {
    if (text.trim() !== value) onCommit(text.trim());
  };
  return (
    <TextInput className={className} label={label} value={text} placeholder={placeholder} description={description} error={error} inputMode={inputMode} disabled={disabled} autoComplete="off"
      rightSection={suffix ? <span className="muted small">{suffix}</span> : undefined} rightSectionWidth={suffix ? 16 + 7 * suffix.length : undefined} rightSectionPointerEvents="none"
      onChange={(e) => setText(e.currentTarget.value)} onBlur={commit} onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); commit(); } }} />
  );
}
