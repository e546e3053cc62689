import { describe, expect, it } from "vitest";
import { quote, unquoted } from "./shell";

describe("words of a command", () => {
  it("are the same after a shell's text was made of them", () => {
    for (const words of [["python", "t.py", "--name", "my run"], ["a'b", 'c"d', "e\\f", "$HOME", "x y\tz"], ["grep", "-E", "^(a|b)$", "*.txt"]]) {
      expect(unquoted(words.map(quote).join(" "))).toEqual(words);
    }
  });

  it("are read as people write them", () => {
    expect(unquoted(`echo "two words" a\\ b  'it'"'"'s'\n--x="y z"`)).toEqual(["echo", "two words", "a b", "it's", "--x=y z"]);
    expect(unquoted(`say "a \\"b\\" c"`)).toEqual(["say", 'a "b" c']);
    expect(unquoted("")).toEqual([]);
    expect(unquoted("it's")).toEqual(["it", "'", "s"]);
  });
});
