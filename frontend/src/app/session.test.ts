import { afterEach, expect, it, vi } from "vitest";
import { rememberSignedIn, thrownOut } from "./session";

afterEach(() => void vi.unstubAllGlobals());

it("knows those who were signed in in this tab, and were brought to sign in again", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, text: string) => kept.set(key, text) });
  expect(thrownOut("?next=%2Fjobs")).toBe(false);
  rememberSignedIn();
  expect([thrownOut("?next=%2Fjobs"), thrownOut("")]).toEqual([true, false]);
});
