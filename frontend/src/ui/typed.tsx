/** A field whose text counts a moment after it was typed. */
import { TextInput } from "@mantine/core";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";

const PAUSE_MS = 350;

interface Props {
  label: string;
  value: string;
  set: (text: string) => void;
  placeholder?: string;
  maxLength?: number;
  icon?: ReactNode;
  /** What is offered while it is typed. */
  choices?: string[];
}

export function Typed({ label, value, set, placeholder = label, maxLength, icon, choices }: Props) {
  const [text, setText] = useState(value);
  const id = useId();
  const newest = useRef(set); // other fields may have changed meanwhile what it adds to
  newest.current = set;
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => newest.current(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]); // eslint-disable-line -- what was typed starts the wait, nothing else
  useEffect(() => setText(value), [value]);
  return (
    <>
      <TextInput aria-label={label} placeholder={placeholder} value={text} leftSection={icon} list={choices ? id : undefined} {...(maxLength && { maxLength })} onChange={(e) => setText(e.currentTarget.value)} />
      {choices && <datalist id={id}>{choices.map((choice) => <option key={choice} value={choice} />)}</datalist>}
    </>
  );
}
