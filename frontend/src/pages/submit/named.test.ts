import { expect, it } from "vitest";
import { withAdded, withField } from "./document";
import { isFile, notified, secretAs } from "./named";

it("knows who is told of a job", () => {
  expect(notified({ notify: [{ receiver: "ci" }, { receiver: "me", events: ["failed"] }, { receiver: "ci" }, 7] })).toEqual(["ci", "me"]);
  expect(notified({})).toEqual([]);
});
it("writes the secrets that a task gets", () => {
  const text = "name: a\ngroups:\n  - name: g # mine\n";
  const added = withAdded(text, ["groups", 0, "secrets"], { name: "db", env: "PW" });
  expect(added).toContain("- name: db\n        env: PW");
  const filed = withField(added, ["groups", 0, "secrets", 0], secretAs({ name: "db", env: "PW" }, true));
  expect(filed).toContain("path: PW");
  expect(filed).toContain("# mine");
  expect(isFile({ name: "db", path: "x" })).toBe(true);
  expect(secretAs({ name: "db", path: "x" }, false)).toEqual({ name: "db", env: "x" });
});
