/** Which field of the form an error of the server belongs to. */
import type { FieldError } from "../../api/types";

/** "groups.0.command", "groups[0].command" and "groups/0/command" name the same field. */
export function fieldPath(field: string): (string | number)[] {
  return field.split(/[.[\]/]+/).filter((part) => part !== "").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

export function errorAt(errors: FieldError[], path: (string | number)[]): FieldError | undefined {
  return errors.find((e) => same(fieldPath(e.field), path));
}

/** What the server says of this very field. */
export function wrong(errors: FieldError[], path: (string | number)[]): string | undefined {
  const found = errorAt(errors, path);
  return found && `${found.message}${found.remedy ? `; ${found.remedy}` : ""}`;
}

function same(a: (string | number)[], b: (string | number)[]): boolean {
  return a.length === b.length && a.every((part, i) => String(part) === String(b[i]));
}
