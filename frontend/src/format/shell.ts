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

// What a shell does itself, or reads as more than a word: there is no such program.
const ITS_OWN = new Set([".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "declare", "do", "done", "elif", "else", "esac", "eval", "exec", "exit", "export", "fg", "fi", "for", "function", "getopts", "hash", "if", "jobs", "let", "local", "read", "readonly", "return", "select", "set", "shift", "shopt", "source", "then", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while"]);

/** Whether a command means the same word by word, without a shell that reads it. */
export function needsNoShell(text: string): boolean {
  const bare = text.trim().replace(/'[^']*'|"((?:[^"\\]|\\[\s\S])*)"|\\[\s\S]/g, (_, twice?: string) => twice?.replace(/\\[\s\S]/g, "").replace(/[^$`]/g, "") ?? "");
  return !/\\\n/.test(text) && !/[|&;<>()$`*?[\]{}~#!\n'"\\]|^\w+=/.test(bare) && !ITS_OWN.has(unquoted(text)[0] ?? "");
}

const SHELL = ["sh", "-c"];

/** A command for a shell as a program and its arguments: the shell is the program where one is needed. */
export function shellWords(text: string): string[] {
  return needsNoShell(text) ? unquoted(text) : [...SHELL, text];
}

/** Words written one a line, in place of `before`; what a shell alone was to run has lines of its own. */
export function linesAsWords(text: string, before: string[]): string[] {
  const lines = text.split("\n");
  const script = isShell(before) && isShell(lines.slice(0, SHELL.length + 1));
  return script ? [...SHELL, lines.slice(SHELL.length).join("\n")] : lines.filter((line) => line !== "");
}

function isShell(words: string[]): boolean {
  return words.length === SHELL.length + 1 && SHELL.every((word, i) => words[i] === word);
}

/** The other way round from `shellWords`. */
export function shellText(words: string[]): string {
  return isShell(words) ? (words[SHELL.length] ?? "") : words.map(quote).join(" ");
}

/** `hydractl` and its arguments, one a word; what is false or missing is left out. */
export function hydractl(...words: Word[]): string {
  const said = words.filter((word) => word !== false && word !== null && word !== undefined);
  return ["hydractl", ...said.map((word) => quote(String(word)))].join(" ");
}
