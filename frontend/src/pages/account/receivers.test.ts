import { expect, it } from "vitest";
import type { JobReceiver, Receiver } from "../../api/types";
import { became, standing, toldOf } from "./receivers";

const now = Date.parse("2026-05-01T10:00:00Z");
const receiver = (more: Partial<Receiver>): Receiver => ({ name: "ci", kind: "webhook", address: "https://ci", every_job: [], created_at: "", changed_at: "", waiting: 0, failures: 0, error: "", next_at: null, ...more });

it("says whether what is told arrives", () => {
  expect(standing(receiver({}), now)).toBe("well");
  expect(standing(receiver({ waiting: 3 }), now)).toBe("3 to be told");
  expect(standing(receiver({ failures: 1, error: "answered 500", waiting: 1 }), now)).toBe("answered 500, once; 1 to be told");
  expect(standing(receiver({ failures: 4, error: "answered 500", next_at: "2026-05-01T10:05:00Z" }), now)).toBe("answered 500, 4 times in a row; tried again in 5 min");
});

it("says what became of what is told, and when it is tried again", () => {
  const next = "2026-05-01T10:05:00Z";
  expect(became({ state: "sent", error: "" }, next, now)).toBe("sent");
  expect(became({ state: "waiting", error: "" }, next, now)).toBe("waiting");
  expect(became({ state: "waiting", error: "answered 500" }, next, now)).toBe("waiting: answered 500; tried again in 5 min");
  expect(became({ state: "given_up", error: "answered 500" }, next, now)).toBe("given up: answered 500");
});

it("says of what a job tells a receiver, and whether that arrived", () => {
  const told = (more: Partial<JobReceiver>) => ({ receiver: "ci", events: ["succeeded", "failed"], waiting: 0, sent: 0, given_up: 0, error: "", next_at: null, ...more });
  expect(toldOf(told({}), now)).toBe("succeeded, failed");
  expect(toldOf(told({ sent: 1, waiting: 1, error: "answered 500", next_at: "2026-05-01T10:05:00Z" }), now)).toBe("succeeded, failed; 1 told; 1 to be told; answered 500; tried again in 5 min");
});
