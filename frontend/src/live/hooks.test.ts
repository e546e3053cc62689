import { QueriesObserver, QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { lastRead } from "./hooks";

test("among several reads one is what it was last, until it is read under its new signature", () => {
  const client = new QueryClient();
  expect(lastRead(client, "/a")).toBeUndefined();
  client.setQueryData(["read", "/a", "RUNNING"], "newer", { updatedAt: 2 });
  client.setQueryData(["read", "/a", "ALLOCATED"], "older", { updatedAt: 1 });
  client.setQueryData(["read", "/b", "RUNNING"], "other", { updatedAt: 3 });
  const reads = ["/a", "/c"].map((path) => ({ queryKey: ["read", path, "FAILED"], enabled: false, placeholderData: () => lastRead<string>(client, path), select: (text: string) => text.length }));
  const [a, c] = new QueriesObserver(client, reads).getCurrentResult();
  expect([a!.data, a!.isPlaceholderData, c!.data]).toEqual([5, true, undefined]);
  client.clear();
});
