/** A field that one types into and chooses from what was found: by mouse, by keyboard, and read out. Its list never holds everything. */
import { TextInput } from "@mantine/core";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

export interface Found {
  options: string[];
  /** More match than are listed. */
  more: boolean;
  busy: boolean;
  /** Why nothing can be found. */
  failed: string | null;
}

interface Props {
  label: string;
  /** The label is read out, not shown. */
  quiet?: boolean;
  className?: string;
  description?: ReactNode;
  error?: ReactNode;
  placeholder?: string;
  value: string;
  /** What is typed; null while the list is closed. */
  typed: string | null;
  onType: (text: string | null) => void;
  found: Found;
  onChoose: (value: string) => void;
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };

export function said({ options, more, busy, failed }: Found): string {
  if (failed) return `It could not be searched: ${failed}`;
  if (busy) return "Searching…";
  if (options.length === 0) return "Nothing is called that.";
  if (more) return `The first ${options.length}; type more of the name for others.`;
  return options.length === 1 ? "1 found" : `${options.length} found`;
}

export function Combobox({ label, quiet, className, description, error, placeholder, value, typed, onType, found, onChoose }: Props) {
  const id = useId();
  const [at, setAt] = useState(0);
  const open = typed !== null;
  const active = open ? found.options[Math.min(at, found.options.length - 1)] : undefined;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setAt(0), [typed]);
  useEffect(() => { // what is typed next is another search, not the end of this name
    if (!open && field.current === document.activeElement) field.current?.select();
  }, [open]);
  const take = (option: string) => {
    onType(null);
    if (option !== value) onChoose(option);
  };
  const pressed = (e: KeyboardEvent) => {
    const step = STEPS[e.key];
    if (step !== undefined) {
      if (!open) onType("");
      else if (found.options.length) setAt(Math.max(0, Math.min(found.options.length - 1, at + step)));
    } else if (open && e.key === "Enter") {
      if (active !== undefined && !found.busy) take(active);
    } else if (open && e.key === "Escape") onType(null);
    else return;
    e.preventDefault(); // neither sends a form nor closes a dialog
    e.stopPropagation();
  };
  return (
    <div className={`combobox ${className ?? ""}`}>
      <TextInput ref={field} {...(quiet ? { "aria-label": label } : { label })} description={description} error={error} placeholder={(open && value) || placeholder} autoComplete="off" spellCheck={false} maxLength={255}
        role="combobox" aria-autocomplete="list" aria-expanded={open} aria-controls={open ? `${id}-list` : undefined} aria-activedescendant={active === undefined ? undefined : `${id}-${found.options.indexOf(active)}`}
        value={typed ?? value} onChange={(e) => onType(e.currentTarget.value)} onFocus={(e) => e.currentTarget.select()} onClick={() => open || onType("")} onBlur={() => { if (typed && found.options.includes(typed.trim())) take(typed.trim()); else onType(null); }} onKeyDown={pressed} />
      {open && <List id={id} label={label} found={found} active={active} value={value} take={take} />}
    </div>
  );
}

function List({ id, label, found, active, value, take }: { id: string; label: string; found: Found; active: string | undefined; value: string; take: (option: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }); // newer browsers answer with a promise
  }, [active]);
  return (
    <div className="combobox-found" onMouseDown={(e) => e.preventDefault()}>
      <div ref={box} id={`${id}-list`} role="listbox" aria-label={label} className="combobox-list">
        {found.options.map((option, n) => (
          <div key={option} id={`${id}-${n}`} role="option" aria-selected={option === active} data-chosen={option === value || undefined} onClick={() => take(option)}>{option}</div>
        ))}
      </div>
      <p className="small muted" role="status">{said(found)}</p>
    </div>
  );
}
