import { afterEach, expect, it, vi } from "vitest";
import { memory } from "../testing";
import { rememberSignedIn, thrownOut } from "./session";

afterEach(() => void vi.unstubAllGlobals());

it("knows those who were signed in in this tab, and were brought to sign in again", () => {
  vi.stubGlobal("sessionStorage", memory());
  expect(thrownOut("?next=%2Fjobs")).toBe(false);
  rememberSignedIn("ann");
  expect([thrownOut("?next=%2Fjobs"), thrownOut("")]).toEqual([true, false]);
});
