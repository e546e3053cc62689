/** How carefully a service is updated, or taken back. Pure. */
export interface Rules {
  max_unavailable?: number;
  max_surge?: number;
  min_ready_s?: number;
  deadline_s?: number;
  max_failures?: number;
}

/** What is not said is as usual. */
export const RULES: { key: keyof Rules; label: string; help: string; usual: number; most: number; option: string }[] = [
  { key: "max_unavailable", label: "Down at a time", help: "Tasks of each group", usual: 1, most: 1_000_000, option: "--max-unavailable" },
  { key: "max_surge", label: "Beside them", help: "New ones that serve first, where there is room", usual: 0, most: 10_000, option: "--max-surge" },
  { key: "min_ready_s", label: "Serves after", help: "Seconds, without a health check", usual: 10, most: 3600, option: "--min-ready" },
  { key: "deadline_s", label: "Taken back after", help: "Seconds, if it is not done; 0: never", usual: 600, most: 604_800, option: "--deadline" },
  { key: "max_failures", label: "Failures borne", help: "With one more it is taken back", usual: 1, most: 1_000_000, option: "--max-failures" },
];

/** Going back is not taken back itself, whatever becomes of it. */
export const RULES_OF_ROLLBACK = RULES.filter(({ key }) => key !== "deadline_s" && key !== "max_failures");

/** Not left out, and not what no number can be read of, which the server refuses. */
export function isNumber(n: number | undefined): n is number {
  return n !== undefined && !Number.isNaN(n);
}

/** A new task serves before an old one goes. */
export const SURGE: Rules = { max_unavailable: 0, max_surge: 1 };

export function surges(rules: Rules): boolean {
  return rules.max_unavailable === SURGE.max_unavailable && rules.max_surge === SURGE.max_surge;
}

/** The same for hydractl. */
export function ruleWords(rules: Rules): string[] {
  return RULES.flatMap(({ key, option }) => (isNumber(rules[key]) ? [option, String(rules[key])] : []));
}
