import { describe, expect, it } from "vitest";
import { linesAsWords, needsNoShell, quote, shellText, shellWords, unquoted } from "./shell";

describe("a command that needs a shell", () => {
  it("is one that a shell makes something else of than its words", () => {
    for (const text of ["ls $HOME | wc", "a && b", "a\nb", "A=1 env", "ls *.txt", 'echo "$A"', "it's", "cd ~", "echo {1,2}", "a > b", "python t.py \\\n  --n=3", '"a \\\nb"', "exit 3", "cd work", ". ./env.sh", "export A"]) expect(needsNoShell(text), text).toBe(false);
    for (const text of ["python t.py --n=3", "echo 'a | b $C'", 'echo "a | b"', "echo \\$A", 'echo "\\$A"', " true \n", ""]) expect(needsNoShell(text), text).toBe(true);
  });
});

describe("a command with a shell and without", () => {
  it("means the same after it was changed and changed back", () => {
    for (const text of ["a | b > $C", "for i in 1 2; do\n  echo $i\ndone > out", "python t.py 'a b'", ""]) expect(shellText(shellWords(text))).toBe(text);
    expect(shellWords("ls $HOME | wc")).toEqual(["sh", "-c", "ls $HOME | wc"]);
    expect(linesAsWords("sh\n-c\nfor i in 1\n\ndo true; done", ["sh", "-c", "old"])).toEqual(["sh", "-c", "for i in 1\n\ndo true; done"]);
    expect(linesAsWords("sh\n-c\necho $@\n_\na", ["sh", "-c", "echo", "_", "a"])).toEqual(["sh", "-c", "echo $@", "_", "a"]);
    expect([linesAsWords("sh\n-c", ["sh"]), linesAsWords("python\nt.py\n", [])]).toEqual([["sh", "-c"], ["python", "t.py"]]);
    expect(shellText(["echo", "two words", "$A"])).toBe("echo 'two words' '$A'");
  });
});

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
