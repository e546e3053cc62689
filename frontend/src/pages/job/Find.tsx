/** Finds text in logs: the field, how many lines hold it, and the way from one to the next. */
import { TextInput } from "@mantine/core";
import { useState, type KeyboardEvent } from "react";
import { count } from "../../format/units";
import { Down, Search, Up } from "../../ui/icons";
import { useParams } from "./params";

export interface Finding {
  needle: string;
  /** How far on from the first hit, or back; it goes round. */
  at: number;
  look: (needle: string, at: number) => void;
}

/** What is looked for at first is what the address says: `find`, and which hit, `nth`. */
export function useFind(): Finding {
  const { get } = useParams();
  const [{ needle, at }, set] = useState({ needle: get("find") ?? "", at: Number(get("nth")) || 0 });
  return { needle, at, look: (needle, at) => set({ needle, at }) };
}

/** Which of so many hits that is; undefined without any. */
export function hitAt(at: number, hits: number): number | undefined {
  return hits ? ((at % hits) + hits) % hits : undefined;
}

export function Find({ find: { needle, at, look }, hits, label }: { find: Finding; hits: number; label: string }) {
  const onKey = (e: KeyboardEvent) => {
    if (e.key !== "Enter") return;
    look(needle, at + (e.shiftKey ? -1 : 1));
    e.preventDefault();
  };
  return (
    <>
      <TextInput aria-label={label} placeholder="Find" leftSection={<Search />} value={needle} onChange={(e) => look(e.currentTarget.value, 0)} onKeyDown={onKey} />
      {needle && <span className="small muted" role="status">{hits ? `${hitAt(at, hits)! + 1} of ${count(hits)}` : "none"}</span>}
      <button type="button" className="icon-button" aria-label="Previous match" title="Previous match" disabled={!hits} onClick={() => look(needle, at - 1)}><Up /></button>
      <button type="button" className="icon-button" aria-label="Next match" title="Next match" disabled={!hits} onClick={() => look(needle, at + 1)}><Down /></button>
    </>
  );
}
