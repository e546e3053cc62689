/** Two versions as text, what differs marked. Loaded with the editor's parts. */
import { yaml } from "@codemirror/lang-yaml";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { useRead } from "../../../live/hooks";
import { styleNonce } from "../../../ui/nonce";
import { Failed, Loading } from "../../../ui/parts";
import { documentText } from "../model/text";
import type { Policy } from "../types";

export default function TextDiff({ first, second }: { first: number; second: number }) {
  const one = useRead<Policy>(`/policy?version=${first}`);
  const two = useRead<Policy>(`/policy?version=${second}`);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!one.data || !two.data || !box.current) return;
    const view = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: documentText(two.data.document),
        extensions: [
          EditorView.cspNonce.of(styleNonce()), lineNumbers(), yaml(), EditorState.readOnly.of(true), EditorView.editable.of(false),
          EditorView.contentAttributes.of({ "aria-label": `Version ${second} against ${first}`, tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true" }),
          unifiedMergeView({ original: documentText(one.data.document), mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 } }),
        ],
      }),
    });
    return () => view.destroy();
  }, [one.data, two.data, first, second]);
  const error = one.error ?? two.error;
  if (error) return <Failed error={error} />;
  if (!one.data || !two.data) return <Loading lines={6} />;
  return <div className="policy-text policy-textdiff" ref={box} />;
}
