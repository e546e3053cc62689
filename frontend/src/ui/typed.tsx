/** A field whose text counts a moment after it was typed. */
import { TextInput } from "@mantine/core";
import { useEffect, useState } from "react";

const PAUSE_MS = 350;

export function Typed({ label, value, set, placeholder = label }: { label: string; value: string; set: (text: string) => void; placeholder?: string }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    if (text === value) return;
    const id = setTimeout(() => set(text), PAUSE_MS);
    return () => clearTimeout(id);
  }, [text]); // eslint-disable-line -- what was typed starts the wait, nothing else
  useEffect(() => setText(value), [value]);
  return <TextInput aria-label={label} placeholder={placeholder} value={text} onChange={(e) => setText(e.currentTarget.value)} />;
}
