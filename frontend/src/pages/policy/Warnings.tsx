/** What is right in a document as it stands, and perhaps not meant. */
import type { FieldError } from "../../api/types";
import { Notice } from "../../ui/parts";

/** go: to the field, where it can be gone to. */
export function Warnings({ warnings, go }: { warnings: FieldError[]; go?: (field: string) => void }) {
  return warnings.map((w) => (
    <Notice key={w.message} kind="warn">
      {go ? <button type="button" className="linkish" onClick={() => go(w.field)}>{w.field}</button> : <b>{w.field}</b>}: {w.message}; {w.remedy}
    </Notice>
  ));
}
