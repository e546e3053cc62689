import { expect, it } from "vitest";
import { sends } from "./ctrlenter";

it("sends on Ctrl+Enter that means nothing else", () => {
  const press = { key: "Enter", ctrlKey: true, metaKey: false, defaultPrevented: false };
  expect([sends(press, false), sends({ ...press, ctrlKey: false, metaKey: true }, false)]).toEqual([true, true]);
  expect(sends(press, true)).toBe(false);
  for (const other of [{ key: "a" }, { ctrlKey: false }, { defaultPrevented: true }]) expect(sends({ ...press, ...other }, false)).toBe(false);
});
