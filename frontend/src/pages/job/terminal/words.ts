const PLAIN = /^[\w@%+=:,./-]+$/;

/** The words of a command line: one that is no single word is the shell's to take apart. */
export function words(line: string): string[] {
  return PLAIN.test(line) ? [line] : ["sh", "-c", line];
}
