/** Who is signed in. */
import { useQuery } from "@tanstack/react-query";
import { call, API, ApiError, get } from "../api/client";
import type { Me } from "../api/types";
import { forgetOthers, load, save, TAB } from "../ui/tabstore";

const NOBODY = ""; // it is read before anybody has signed in
const SIGNED_IN = "signed-in";

export function useMe() {
  return useQuery<Me, ApiError>({
    queryKey: ["me"],
    queryFn: ({ signal }) => get<Me>("/me", signal),
    retry: (failures, error) => error.status !== 401 && error.status !== 403 && failures < 3,
    staleTime: 60_000,
  });
}

/** Ends the session, and the page with all that it knows: whoever signs in next begins with nothing. */
export async function signOut(): Promise<void> {
  try {
    await call(`${API}/auth/session`, { method: "DELETE" });
  } catch (cause) {
    if (!(cause instanceof ApiError && (cause.status === 401 || cause.status === 403))) {
      window.alert("You are still signed in: Hydra could not be reached. Try again.");
      return;
    }
  }
  forgetOthers(TAB, null);
  location.assign("/login");
}

export async function signIn(username: string, password: string): Promise<void> {
  await call(`${API}/auth/session`, { method: "POST", json: { username, password } });
}

/** Also that the tab is this account's: what another wrote in it is gone. */
export function rememberSignedIn(username: string): void {
  forgetOthers(TAB, username);
  save(TAB, NOBODY, SIGNED_IN, {});
}

/** Whether somebody was brought to the sign-in page who was signed in, in this tab, and has not signed out in it. */
export function thrownOut(search: string): boolean {
  return new URLSearchParams(search).has("next") && load(TAB, NOBODY, SIGNED_IN) !== null;
}

/** Where to go after signing in: a path of this site only, never another one. */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) ? next : "/";
}
