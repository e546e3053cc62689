import { expect, it } from "vitest";
import { sends } from "./ctrlenter";

it("sends on Ctrl+Enter that means nothing else", () => {
  const press = { key: "Enter", ctrlKey: true, metaKey: false, defaultPrevented: false, repeat: false };
  expect([sends(press, false), sends({ ...press, ctrlKey: false, metaKey: true }, false)]).toEqual([true, true]);
  expect(sends(press, true)).toBe(false);
  const others: Partial<typeof press>[] = [{ key: "a" }, { ctrlKey: false }, { defaultPrevented: true }, { repeat: true }];
  for (const other of others) expect(sends({ ...press, ...other }, false)).toBe(false);
});
