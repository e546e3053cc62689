/** What is right in a document as it stands, and perhaps not meant. */
import type { FieldError } from "../../api/types";
import { Notice } from "../../ui/parts";

export function Warnings({ warnings }: { warnings: FieldError[] }) {
  return warnings.map((w) => <Notice key={w.message} kind="warn"><b>{w.field}</b>: {w.message}; {w.remedy}</Notice>);
}
