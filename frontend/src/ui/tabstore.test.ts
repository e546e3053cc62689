import { describe, expect, it } from "vitest";
import { memory } from "../testing";
import { clear, forgetOthers, load, save } from "./tabstore";

const forbidden = (): Storage => { throw new Error("SecurityError"); };

describe("what a tab keeps", () => {
  it("is found again by who wrote it, until it is cleared", () => {
    const held = memory();
    const s = () => held;
    expect(save(s, "ann", "submit", { text: "a" })).toBe(true);
    expect(load(s, "ann", "submit")).toEqual({ text: "a" });
    expect(load(s, "bob", "submit")).toBeNull();
    clear(s, "ann", "submit");
    expect(load(s, "ann", "submit")).toBeNull();
  });

  it("is nothing where it cannot be read or kept", () => {
    for (const text of ["not json", "[1]", "3", '"x"']) expect(load(() => memory(new Map([["hydra.kept.ann/submit", text]])), "ann", "submit")).toBeNull();
    const full = { ...memory(), setItem: () => { throw new Error("full"); } };
    expect([save(() => full, "ann", "submit", {}), save(forbidden, "ann", "submit", {}), load(forbidden, "ann", "submit")]).toEqual([false, false, null]);
    expect(() => { clear(forbidden, "ann", "submit"); forgetOthers(forbidden, null); }).not.toThrow();
  });

  it("is of nobody who comes next", () => {
    const held = new Map([["another's", "stays"]]);
    const s = () => memory(held);
    for (const who of ["ann", "ann.b", "bob"]) save(s, who, "submit", {});
    forgetOthers(s, "ann");
    expect([...held.keys()]).toEqual(["another's", "hydra.kept.ann/submit"]);
    forgetOthers(s, null);
    expect([...held.keys()]).toEqual(["another's"]);
  });
});
