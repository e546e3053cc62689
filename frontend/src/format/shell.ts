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

/** `hydractl` and its arguments, one a word; what is false or missing is left out. */
export function hydractl(...words: Word[]): string {
  const said = words.filter((word) => word !== false && word !== null && word !== undefined);
  return ["hydractl", ...said.map((word) => quote(String(word)))].join(" ");
}
