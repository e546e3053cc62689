/** Tokens of an account: what for, until when, and how one is ended. */
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { remove, type ApiError } from "../../api/client";
import type { Account, Page, Token } from "../../api/types";
import { hydractl } from "../../format/shell";
import { ago, moment } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Command, Confirm, Failed, Loading, useNow } from "../../ui/parts";
import { endsSoon, until } from "./words";

/** Those of somebody else, as operators and viewers see them. */
export function AccountTokens({ account, editable }: { account: Account; editable: boolean }) {
  const now = useNow(10_000);
  const [ending, setEnding] = useState<Token | null>(null);
  const at = `/accounts/${encodeURIComponent(account.username)}/tokens`;
  const view = useRead<Page<Token>>(at);
  const tokens = view.data?.results;
  return (
    <section aria-labelledby="account-tokens">
      <h3 id="account-tokens">Tokens</h3>
      {!tokens ? (view.error ? <Failed error={view.error} retry={() => void view.refetch()} /> : <Loading label="Loading tokens" />)
        : tokens.length === 0 ? <p className="small muted">None is valid.</p>
        : <TokenTable tokens={tokens} now={now} end={editable ? setEnding : undefined} />}
      <Command text={hydractl("account", "tokens", account.username)} />
      {ending && <Revoke token={ending} address={`${at}/${encodeURIComponent(ending.key)}`} command={hydractl("account", "revoke-token", account.username, ending.key)} onClose={() => setEnding(null)} />}
    </section>
  );
}

/** Valid tokens; with `end`, each can be revoked. */
export function TokenTable({ tokens, now, end }: { tokens: Token[]; now: number; end?: (token: Token) => void }) {
  return (
    <div className="table-wrap">
      <table className="grid stacked labelled">
        <thead><tr><th>Name</th><th>Begins with</th><th className="num">Made</th><th className="num">Last used</th><th className="num">Ends</th>{end && <th><span className="sr">Actions</span></th>}</tr></thead>
        <tbody>{tokens.map((t) => (
          <tr key={t.key}>
            <td className="clip">{t.name || <span className="muted">from a log-in</span>}</td><td className="mono" data-label="Begins with">{t.key}</td>
            <td className="num" data-label="Made" title={moment(t.created_at)}>{ago(t.created_at, now)}</td>
            <td className="num" data-label="Last used" title={t.last_used_at ? moment(t.last_used_at) : undefined}>{t.last_used_at ? ago(t.last_used_at, now) : <span className="muted">never</span>}</td>
            <td className="num" data-label="Ends" title={t.expires_at ? moment(t.expires_at) : undefined}>{until(t.expires_at, now)}{endsSoon(t, now) && t.name ? <> <span className="tag">soon</span></> : null}</td>
            {end && <td className="num"><Button size="compact-sm" variant="default" aria-label={`Revoke ${t.name || t.key}`} onClick={() => end(t)}>Revoke…</Button></td>}
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

/** The question before a token ends. address: where it is deleted. */
export function Revoke({ token, address, command, onClose }: { token: Token; address: string; command: string; onClose: () => void }) {
  const client = useQueryClient();
  const end = useMutation<void, ApiError>({
    mutationFn: () => remove(address),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); onClose(); },
  });
  return (
    <Confirm title="Revoke the token" action="Revoke" busy={end.isPending} error={end.error} onClose={onClose} onConfirm={() => end.mutate()}>
      <p>Programs that use <strong>{token.name || token.key}</strong> are refused from now on.</p>
      <Command text={command} />
    </Confirm>
  );
}
