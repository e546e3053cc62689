import { expect, it } from "vitest";
import { said } from "../ui/combobox";
import { queuesPath } from "./queuesearch";

it("a search for queues is bounded and written as an address", () => {
  expect(queuesPath("", "any")).toBe("/queues?page_size=50");
  expect(queuesPath("a&b", "may_submit")).toBe("/queues?page_size=50&contains=a%26b&may_submit=yes");
  expect(queuesPath("", "whole")).toBe("/queues?page_size=50&whole=yes");
});

it("what was found is said", () => {
  const found = { options: ["root.a", "root.b"], more: false, busy: false, failed: null };
  expect(said(found)).toBe("2 found");
  expect(said({ ...found, more: true })).toBe("The first 2; type more of the name for others.");
  expect(said({ ...found, options: [] })).toBe("Nothing is called that.");
  expect(said({ ...found, busy: true })).toBe("Searching…");
  expect(said({ ...found, failed: "no answer" })).toBe("It could not be searched: no answer");
});
