/** The rules every file of the page follows: sizes a reader can hold in mind, and nobody imports his importer. */
import ts from "typescript";
import { expect, it } from "vitest";

const FILE_LINES_MAX = 500;
const FUNCTION_LINES_MAX = 50;
const sources = import.meta.glob<string>(["./**/*.{ts,tsx}", "!./**/*.d.ts"], { query: "?raw", import: "default", eager: true });

/** Functions of a file whose bodies are too long, by their lines. */
function tooLong(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const line = (at: number) => file.getLineAndCharacterOfPosition(at).line + 1;
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const lines = line(node.end) - line(node.body.getStart(file)) + 1;
      if (lines > FUNCTION_LINES_MAX) found.push(`${path}:${line(node.getStart(file))}: a function of ${lines} lines`);
    }
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

/** What a file imports of the page at its top, types aside. */
function imports(path: string, text: string): string[] {
  const named = [...text.matchAll(/^(?:import|export) (?!type )(?:[^;"]* from )?"(\.[^"]+)"/gm)].map(([, to]) => {
    const way = `${path}/../${to!.replace(/^\.\//, "")}`.split("/");
    for (let up = way.indexOf(".."); up > 0; up = way.indexOf("..")) way.splice(up - 1, 2);
    return way.join("/");
  });
  return named.flatMap((to) => [`${to}.ts`, `${to}.tsx`].filter((file) => file in sources));
}

/** A way from a file back to itself, if there is one. */
function circle(from: string, known: Map<string, string[]>): string[] | null {
  const ways = (known.get(from) ?? []).map((to) => [from, to]);
  const seen = new Set<string>();
  for (const way of ways) {
    const last = way.at(-1)!;
    if (last === from) return way;
    if (!seen.has(last)) ways.push(...(known.get(last) ?? []).map((to) => [...way, to]));
    seen.add(last);
  }
  return null;
}

it("no file and no function is longer than a reader can hold in mind", () => {
  const files = Object.entries(sources);
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter(([, text]) => text.split("\n").length > FILE_LINES_MAX).map(([path]) => path)).toEqual([]);
  expect(files.flatMap(([path, text]) => tooLong(path, text))).toEqual([]);
});

it("nobody imports his importer", () => {
  const known = new Map(Object.entries(sources).map(([path, text]) => [path, imports(path, text)]));
  expect([...known.values()].flat().length).toBeGreaterThan(100);
  expect([...known.keys()].map((path) => circle(path, known)).filter(Boolean)).toEqual([]);
});

it("brings the styles of every component of the library", () => {
  const styled = Object.keys(import.meta.glob("../node_modules/@mantine/core/styles/*.css")).map((path) => path.replace(/^.*\/(.*)\.css$/, "$1"));
  const text = Object.values(sources).join("\n");
  const used = [...text.matchAll(/^import \{([^}]*)\} from "@mantine\/core";/gm)].flatMap(([, names]) => names!.split(",").map((name) => name.trim()));
  expect(used).toContain("Button");
  expect(used.filter((name) => styled.includes(name) && !text.includes(`"@mantine/core/styles/${name}.css"`))).toEqual([]);
});
