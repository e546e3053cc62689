/** Who is signed in. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call, API, ApiError, get } from "../api/client";
import type { Me } from "../api/types";
import { live } from "../live/hooks";

export function useMe() {
  return useQuery<Me, ApiError>({
    queryKey: ["me"],
    queryFn: ({ signal }) => get<Me>("/me", signal),
    retry: (failures, error) => error.status !== 401 && error.status !== 403 && failures < 3,
    staleTime: 60_000,
  });
}

export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await call(`${API}/auth/session`, { method: "DELETE" });
    live.stop();
    client.clear();
  };
}

export async function signIn(username: string, password: string): Promise<void> {
  await call(`${API}/auth/session`, { method: "POST", json: { username, password } });
}

/** Where to go after signing in: a path of this site only, never another one. */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}
