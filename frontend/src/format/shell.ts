/** What the pages do, as commands of a shell. Names come from people and from addresses, so every word is quoted. */

type Word = string | number | false | null | undefined;

/** As a shell takes it literally. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The words of a command as a shell would take them, apart from what it puts in for `$` and the like. */
export function unquoted(text: string): string[] {
  const found = text.match(/(?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+|['"\\]/g) ?? [];
  return found.map((word) => word.replace(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g, (_, plain?: string, twice?: string, one?: string) => plain ?? twice?.replace(/\\(["\\$`])/g, "$1") ?? one ?? ""));
}

/** Whether a command means the same word by word, without a shell that reads it. */
export function needsNoShell(text: string): boolean {
  const bare = text.trim().replace(/'[^']*'|"((?:[^"\\]|\\[\s\S])*)"|\\[\s\S]/g, (_, twice?: string) => twice?.replace(/\\[\s\S]/g, "").replace(/[^$`]/g, "") ?? "");
  return !/[|&;<>()$`*?[\]{}~#!\n'"\\]|^\w+=/.test(bare);
}

const SHELL = ["sh", "-c"];

/** A command for a shell as a program and its arguments: the shell is the program where one is needed. */
export function shellWords(text: string): string[] {
  return needsNoShell(text) ? unquoted(text) : [...SHELL, text];
}

/** Words written one a line; what a shell is to run has lines of its own. */
export function linesAsWords(text: string): string[] {
  const lines = text.split("\n");
  return SHELL.every((word, i) => lines[i] === word) ? [...SHELL, lines.slice(SHELL.length).join("\n")] : lines.filter((line) => line !== "");
}

/** The other way round from `shellWords`. */
export function shellText(words: string[]): string {
  const [script] = words.slice(SHELL.length);
  return script !== undefined && words.length === 3 && SHELL.every((word, i) => words[i] === word) ? script : words.map(quote).join(" ");
}

/** `hydractl` and its arguments, one a word; what is false or missing is left out. */
export function hydractl(...words: Word[]): string {
  const said = words.filter((word) => word !== false && word !== null && word !== undefined);
  return ["hydractl", ...said.map((word) => quote(String(word)))].join(" ");
}
