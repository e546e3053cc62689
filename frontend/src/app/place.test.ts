import { describe, expect, it } from "vitest";
import { placeOf, restOf } from "./place";

const PAGES = [{ to: "/" }, { to: "/jobs" }, { to: "/job" }];

describe("addresses", () => {
  it("belong to the page they are at or below", () => {
    expect(placeOf(PAGES, "/")).toEqual({ page: { to: "/" }, rest: "" });
    expect(placeOf(PAGES, "/jobs")).toEqual({ page: { to: "/jobs" }, rest: "" });
    expect(placeOf(PAGES, "/jobs/42/")).toEqual({ page: { to: "/jobs" }, rest: "42" });
    expect(placeOf(PAGES, "/job/nodes/7")).toEqual({ page: { to: "/job" }, rest: "nodes/7" });
  });

  it("belong to none when no page begins like them", () => {
    expect(placeOf(PAGES, "/jobsy")).toBeNull();
    expect(restOf("/anything", "/")).toBeNull();
  });
});
