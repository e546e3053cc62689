/** The text that is being written: from the version in force, or from what this tab kept. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { useRead } from "../../../live/hooks";
import { clear, load, save, type Draft } from "../model/draft";
import { TAB } from "../../../ui/tabstore";
import { documentText } from "../model/text";
import type { Policy } from "../types";

export interface DraftView {
  text: string;
  /** The version it was made from, with its document. */
  base: Policy;
  dirty: boolean;
  /** It was found in this tab after a reload. */
  restored: boolean;
  savedAt: number | null;
  /** The browser keeps nothing: a reload would lose the text. */
  unkept: boolean;
  set: (text: string) => void;
  /** The same text, made from another version. */
  rebase: (base: Policy, text: string) => void;
  discard: (now?: Policy) => void;
}

export function useDraft(account: string, active: Policy | undefined): DraftView | null {
  const [draft, setDraft] = useState<Draft | null>(() => load(TAB, account));
  const [restored, setRestored] = useState(draft !== null);
  const [unkept, setUnkept] = useState(false);
  const [known, setKnown] = useState<Policy | null>(null);
  const wanted = draft?.base ?? active?.version ?? 0;
  const here = [known, active].find((one) => one?.version === wanted) ?? null;
  const older = useRead<Policy>(`/policy?version=${wanted}`, "", wanted > 0 && active !== undefined && !here);
  const base = here ?? older.data ?? (older.isError ? active : undefined);
  const clean = useMemo(() => (base ? documentText(base.document) : ""), [base]);
  const keep = useCallback((made: Draft) => {
    setDraft(made);
    setUnkept(!save(TAB, account, made));
  }, [account]);
  const set = useCallback((text: string) => {
    if (!base) return;
    if (text === clean) {
      clear(TAB, account);
      setDraft(null);
      setKnown(base);
    } else keep({ text, base: base.version, savedAt: Date.now() });
  }, [account, base, clean, keep]);
  const rebase = useCallback((to: Policy, text: string) => {
    setKnown(to);
    keep({ text, base: to.version, savedAt: Date.now() });
  }, [keep]);
  const discard = useCallback((now?: Policy) => {
    clear(TAB, account);
    setDraft(null);
    setRestored(false);
    setKnown(now ?? null);
  }, [account]);
  useEffect(() => {
    if (!unkept || !draft) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [unkept, draft]);
  if (!base) return null;
  const text = draft?.text ?? clean;
  return { text, base, dirty: text !== clean, restored: restored && draft !== null, savedAt: draft?.savedAt ?? null, unkept, set, rebase, discard };
}
