import { expect, it } from "vitest";
import type { Receiver } from "../../api/types";
import { standing } from "./receivers";

const now = Date.parse("2026-05-01T10:00:00Z");
const receiver = (more: Partial<Receiver>): Receiver => ({ name: "ci", kind: "webhook", address: "https://ci", every_job: [], created_at: "", changed_at: "", waiting: 0, failures: 0, error: "", next_at: null, ...more });

it("says whether what is told arrives", () => {
  expect(standing(receiver({}), now)).toBe("well");
  expect(standing(receiver({ waiting: 3 }), now)).toBe("3 to be told");
  expect(standing(receiver({ failures: 1, error: "answered 500", waiting: 1 }), now)).toBe("answered 500, once; 1 to be told");
  expect(standing(receiver({ failures: 4, error: "answered 500", next_at: "2026-05-01T10:05:00Z" }), now)).toBe("answered 500, 4 times in a row; tried again in 5 min");
});
