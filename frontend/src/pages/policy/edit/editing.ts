/** What every field of the form is given: the document that is edited, and its own place in it. */
import type { Schema } from "../model/schema";
import type { Problem } from "../model/text";
import type { Json, Path } from "../types";

export interface Editing {
  root: Schema;
  document: Json;
  problems: Problem[];
  set: (path: Path, value: unknown) => void;
}

export interface FieldProps {
  name: string;
  schema: Schema;
  path: Path;
  value: unknown;
  before: unknown;
  editing: Editing;
  /** Words it takes, where the schema does not know them. */
  words?: string[];
  /** What holds while it is left out, where that is the cluster's value rather than a default. */
  above?: unknown;
}

const LABELS: Record<string, string> = { am: "AM", gpus: "GPUs", mib: "MiB", amrmproxy: "AM-RM proxy" };

/** max_running_jobs to "Max running jobs"; the unit stands beside the field, not in its name. */
export function labelOf(name: string): string {
  const words = name.replace(/_(s|ms|mib|milli)$/, "").split("_").map((word) => LABELS[word] ?? word).join(" ");
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace("sub clusters", "sub-clusters");
}
