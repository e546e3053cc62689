import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { ApiError } from "../../api/client";
import { nextPath, signIn, thrownOut } from "../../app/session";
import { MARK } from "../../ui/mark";
import { Failed, Notice } from "../../ui/parts";

export function LoginPage() {
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [thrown] = useState(() => thrownOut(location.search));

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      await signIn(String(form.get("username")), String(form.get("password")));
      location.replace(nextPath(location.search)); // a page of its own: nothing of another account's is left in it
    } catch (cause) {
      setError(cause instanceof ApiError ? cause : new ApiError(0, "Signing in failed", String(cause)));
      setBusy(false);
    }
  }

  return (
    <main className="login">
      <form onSubmit={(e) => void submit(e)} aria-label="Sign in" aria-describedby={thrown ? "thrown-out" : undefined}>
        <div className="row"><img src={MARK} alt="" /><div><h1>Hydra</h1><p className="muted small">One view over all your sub-clusters</p></div></div>
        {thrown && !error && <ThrownOut />}
        {error && <Failed error={error} />}
        <TextInput size="sm" name="username" label="User name" autoComplete="username" autoFocus required withAsterisk={false} />
        <PasswordInput size="sm" name="password" label="Password" autoComplete="current-password" required withAsterisk={false} />
        <Button type="submit" size="sm" loading={busy}>Sign in</Button>
      </form>
    </main>
  );
}

/** Of a session that is gone nobody can say which of these it was. */
function ThrownOut() {
  return (
    <Notice kind="warn">
      <div id="thrown-out">
        <strong>You have been signed out.</strong> Your session ran out, you signed out in another tab, your password was changed,
        or an operator ended the session or closed the account. Sign in to go on where you were.
      </div>
    </Notice>
  );
}
