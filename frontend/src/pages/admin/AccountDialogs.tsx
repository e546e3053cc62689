/** Make an account; look at one, and change it. */
import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, wrongWith, type ApiError } from "../../api/client";
import type { Account, Me, Role } from "../../api/types";
import { moment } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Close } from "../../ui/icons";
import { useModal } from "../../ui/modal";
import { Command, Confirm, Failed, Loading } from "../../ui/parts";
import { Grants } from "./Grants";
import { AccountTokens } from "./Tokens";
import { barred, ROLES } from "./words";
import { hydractl } from "../../format/shell";

const roleHelp = (role: string) => ROLES.find((r) => r.value === role)?.may;

export function CreateAccount({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<Role>("tenant");
  const client = useQueryClient();
  const make = useMutation<Account, ApiError>({
    mutationFn: () => post<Account>("/accounts", { username: name, password, role }),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); onClose(); },
  });
  const known = make.error?.errors.every((e) => e.field === "username" || e.field === "password") && (make.error?.errors.length ?? 0) > 0;
  return (
    <Confirm title="New account" action="Create" busy={make.isPending} error={known ? null : make.error} onClose={onClose} onConfirm={() => make.mutate()}>
      <TextInput label="Name" required autoComplete="off" maxLength={150} value={name} error={wrongWith(make.error, "username")} onChange={(e) => setName(e.currentTarget.value)} />
      <PasswordInput label="Password" description="At least ten characters; its owner can change it" required autoComplete="new-password" value={password} error={wrongWith(make.error, "password")} onChange={(e) => setPassword(e.currentTarget.value)} />
      <NativeSelect label="Role" description={roleHelp(role)} value={role} onChange={(e) => setRole(e.currentTarget.value as Role)} data={ROLES.map(({ value, label }) => ({ value, label }))} />
      <Command text={hydractl("account", "create", name || "NAME", "--role", role)} />
    </Confirm>
  );
}

type Act = "role" | "email" | "close" | "open" | "password" | "sign-out";
const OF_ANYBODY: Act[] = ["email", "sign-out"]; // also of one's own account
const TITLES: Record<Act, string> = { role: "Change the role", email: "Set the mail address", close: "Close the account", open: "Open the account", password: "Reset the password", "sign-out": "Sign out everywhere" };
const WHAT: Record<Act, string> = {
  role: "What it may do changes with its next request.",
  email: "Mail of its jobs goes there, where its owner wants any, and nowhere else. Empty: nowhere.",
  close: "Nobody can log in with it. Its sessions and tokens end at once and do not come back. Its jobs go on.",
  open: "Its owner can log in again. Tokens and sessions that ended stay ended.",
  password: "For somebody who has lost theirs. All its sessions and tokens end.",
  "sign-out": "All its sessions and tokens end at once; its password stays.",
};

export function AccountDialog({ username, me, onClose }: { username: string; me: Me; onClose: () => void }) {
  const ref = useModal();
  const [asking, setAsking] = useState<Act | null>(null);
  const view = useRead<Account>(`/accounts/${encodeURIComponent(username)}`);
  const account = view.data;
  const operator = me.role === "operator";
  const why = account ? barred(account, me) : "";
  const acts: Act[] = account?.active === false ? ["open"] : ["role", "email", "password", "sign-out", "close"];
  return (
    <dialog ref={ref} className="ask account-dialog" aria-labelledby="account-name" onClose={(e) => e.target === ref.current && onClose()}>
      <div className="row">
        <h2 id="account-name" className="grow clip">{username}</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={() => ref.current?.close()}><Close /></button>
      </div>
      {view.error && !account ? <Failed error={view.error} /> : !account ? <Loading lines={3} label="Loading the account" /> : (
        <>
          <dl className="facts">
            <div><dt>Role</dt><dd>{ROLES.find((r) => r.value === account.role)?.label}{account.active ? "" : ", closed"}</dd></div>
            <div><dt>Mail</dt><dd className="wrap-any">{account.email || "none"}</dd></div>
            <div><dt>Made</dt><dd>{moment(account.created_at)}</dd></div>
            <div><dt>Last log-in</dt><dd>{account.last_login_at ? moment(account.last_login_at) : "never"}</dd></div>
          </dl>
          <Grants account={account} editable={operator} />
          <AccountTokens account={account} editable={operator} />
          {operator && (
            <div className="row wrap">
              {acts.map((act) => <Button key={act} size="compact-sm" variant="default" disabled={why !== "" && !OF_ANYBODY.includes(act)} title={(!OF_ANYBODY.includes(act) && why) || undefined} onClick={() => setAsking(act)}>{TITLES[act]}…</Button>)}
            </div>
          )}
          {operator && why && <p className="small muted">{why}.</p>}
          <Command text={hydractl("account", "show", username)} />
          {asking && <Change key={asking} act={asking} account={account} onClose={() => setAsking(null)} />}
        </>
      )}
    </dialog>
  );
}

function Change({ act, account, onClose }: { act: Act; account: Account; onClose: () => void }) {
  const [role, setRole] = useState<Role>(account.role);
  const [password, setPassword] = useState("");
  const [email, setEmail] = useState(account.email);
  const client = useQueryClient();
  const body = act === "email" ? { email: email.trim() } : act === "role" ? { role } : act === "password" ? { password } : {};
  const send = useMutation<Account, ApiError>({
    mutationFn: () => post<Account>(`/accounts/${encodeURIComponent(account.username)}/${act}`, body),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); onClose(); },
  });
  const command = [act === "password" ? "reset-password" : act, account.username, act === "role" && role, act === "email" && email.trim()];
  const known = act === "password" || act === "email" ? wrongWith(send.error, act) : undefined;
  return (
    <Confirm title={`${TITLES[act]}: ${account.username}`} action={TITLES[act]} busy={send.isPending} error={known ? null : send.error} onClose={onClose} onConfirm={() => send.mutate()}>
      <p>{WHAT[act]}</p>
      {act === "role" && <NativeSelect label="Role" description={roleHelp(role)} value={role} onChange={(e) => setRole(e.currentTarget.value as Role)} data={ROLES.map(({ value, label }) => ({ value, label }))} />}
      {act === "password" && <PasswordInput label="New password" required autoComplete="new-password" value={password} error={known} onChange={(e) => setPassword(e.currentTarget.value)} />}
      {act === "email" && <TextInput label="Mail address" type="email" autoComplete="off" maxLength={254} value={email} error={known} onChange={(e) => setEmail(e.currentTarget.value)} />}
      <Command text={hydractl("account", ...command)} />
    </Confirm>
  );
}
