/** What the pages do, as commands of a shell. Names come from people and from addresses, so every word is quoted. */

type Word = string | number | false | null | undefined;

/** As a shell takes it literally. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `hydractl` and its arguments, one a word; what is false or missing is left out. */
export function hydractl(...words: Word[]): string {
  const said = words.filter((word) => word !== false && word !== null && word !== undefined);
  return ["hydractl", ...said.map((word) => quote(String(word)))].join(" ");
}
