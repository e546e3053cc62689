/** The text view: CodeMirror with the schema's words and the server's errors. A chunk of its own. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, defaultHighlightStyle, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { placeOf } from "../../../format/text";
import { styleNonce } from "../../../ui/nonce";
import { complete } from "../model/complete";
import { helpFor, schemaAt, type Schema } from "../model/schema";
import { pathAt, read, type Problem } from "../model/text";
import type { Path } from "../types";

export interface EditorProps {
  text: string;
  schema: Schema | undefined;
  subClusters: string[];
  problems: Problem[];
  /** Where to stand; taken when it changes. */
  at: Path | null;
  /** Without it the text is only read. */
  onChange?: (text: string) => void;
  onSave?: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, class: "cm-key" },
  { tag: [tags.string, tags.content], class: "cm-text" },
  { tag: tags.comment, class: "cm-comment" },
  { tag: [tags.keyword, tags.bool, tags.null], class: "cm-word" },
  { tag: tags.number, class: "cm-number" },
]);

/** The help of the field at `offset`, as nodes: what a schema says is text, never HTML. */
function helpNode(name: string, schema: Schema, root: Schema): HTMLElement {
  const help = helpFor(root, name, schema);
  const box = document.createElement("div");
  box.className = "cm-help";
  const title = box.appendChild(document.createElement("b"));
  title.textContent = help.title;
  if (help.text) box.appendChild(document.createElement("p")).textContent = help.text;
  if (help.facts.length) box.appendChild(document.createElement("small")).textContent = help.facts.join(" · ");
  return box;
}

function extensions(props: { current: EditorProps }): Extension[] {
  const source = (context: CompletionContext): CompletionResult | null => {
    const root = props.current.schema;
    const found = root && complete(root, context.state.doc.toString(), context.pos, context.explicit, props.current.subClusters);
    if (!found) return null;
    return {
      from: found.from,
      options: found.options.map((o) => ({ label: o.label, apply: o.apply, detail: o.detail, type: o.kind, ...(o.info && { info: o.info }) })),
      validFor: /^[\w-]*$/,
    };
  };
  const hover = hoverTooltip((view, pos) => {
    const root = props.current.schema;
    if (!root) return null;
    const reading = read(view.state.doc.toString());
    const path = pathAt(reading, pos);
    const place = placeOf(reading, path);
    const schema = path.length ? schemaAt(root, path, reading.value ?? undefined) : null;
    if (!schema || !place || pos < place.from || pos > place.to) return null;
    return { pos: place.from, end: place.to, above: true, create: () => ({ dom: helpNode(String(path.at(-1)), schema, root) }) };
  });
  return [
    EditorView.cspNonce.of(styleNonce()), EditorState.readOnly.of(!props.current.onChange),
    lineNumbers(), foldGutter(), lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), history(), drawSelection(), indentOnInput(),
    bracketMatching(), closeBrackets(), search({ top: true }), highlightSelectionMatches(), yaml(),
    syntaxHighlighting(COLOURS), syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    autocompletion({ override: [source], icons: false }), hover,
    keymap.of([
      { key: "Mod-Enter", run: () => (props.current.onSave?.(), true) },
      ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap,
    ]),
    EditorView.contentAttributes.of({ "aria-label": "Policy document", tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) props.current.onChange?.(update.state.doc.toString());
    }),
  ];
}

export default function Editor(given: EditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const props = useRef(given);
  useEffect(() => {
    props.current = given;
  });
  useEffect(() => {
    const made = new EditorView({ state: EditorState.create({ doc: props.current.text, extensions: extensions(props) }), parent: box.current! });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== given.text) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: given.text } });
    }
  }, [given.text]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const most = editor.state.doc.length;
    const marks = given.problems.map((p) => ({
      from: Math.min(p.from, most), to: Math.min(p.to, most), severity: "error" as const, message: [p.message, p.remedy].filter(Boolean).join(": "),
    }));
    editor.dispatch(setDiagnostics(editor.state, marks));
  }, [given.problems]);
  const pointer = JSON.stringify(given.at);
  useEffect(() => {
    const editor = view.current;
    const at = props.current.at;
    const place = at?.length ? placeOf(read(editor?.state.doc.toString() ?? ""), at) : null;
    if (!editor || !place) return;
    editor.dispatch({ selection: { anchor: place.from }, effects: EditorView.scrollIntoView(place.from, { y: "center" }) });
    editor.focus();
  }, [pointer]);
  return (
    <div className="policy-text">
      <div ref={box} />
      <p className="muted small policy-keys">
        <button type="button" className="linkish" onClick={() => view.current && openSearchPanel(view.current)}>Search (Ctrl+F)</button>
        <span>{given.onChange && "Ctrl+Space: what may stand here · F8: next error · Ctrl+Enter: plan · "}Escape, then Tab: leave the text</span>
      </p>
    </div>
  );
}
