/** Accounts: who they are, what they may, and what operators do with them. */
import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import type { Account, Me, Page } from "../../api/types";
import { ago, moment } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Card, Command, Empty, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { AccountDialog, CreateAccount } from "./AccountDialogs";
import { queueWords, ROLES } from "./words";
import { hydractl } from "../../format/shell";
import { Typed } from "../../ui/typed";

const KEPT = ["name", "role", "cursor"] as const;

export function Accounts({ me }: { me: Me }) {
  const params = new URLSearchParams(useSearch());
  const [, go] = useLocation();
  const now = useNow(10_000);
  const [making, setMaking] = useState(false);
  const query = new URLSearchParams(KEPT.flatMap((k) => (params.get(k) ? [[k, params.get(k) as string]] : [])));
  const view = useRead<Page<Account>>(`/accounts${query.size ? `?${query}` : ""}`);
  const set = (changes: Record<string, string>) => {
    const next = new URLSearchParams(params);
    for (const [key, value] of Object.entries(changes)) value ? next.set(key, value) : next.delete(key);
    if (!("cursor" in changes) && !("account" in changes)) next.delete("cursor");
    go(`/admin/accounts${next.size ? `?${next}` : ""}`, { replace: !changes.account });
  };
  const filters = (["name", "role"] as const).flatMap((n) => (params.get(n) ? [`--${n}`, params.get(n)] : []));
  const other = (address: string | null | undefined) => new URLSearchParams(address?.split("?")[1]).get("cursor") ?? "";
  const page = view.data;
  const chosen = params.get("account");
  return (
    <>
      <div className="filters" role="search" aria-label="Filter accounts">
        <Typed label="Name" maxLength={150} value={params.get("name") ?? ""} set={(name) => set({ name })} />
        <NativeSelect aria-label="Role" value={params.get("role") ?? ""} onChange={(e) => set({ role: e.currentTarget.value })} data={[{ value: "", label: "Any role" }, ...ROLES.map(({ value, label }) => ({ value, label }))]} />
        <span className="grow" />
        {me.role === "operator" && <Button onClick={() => setMaking(true)}>New account…</Button>}
      </div>
      {view.error && page && <Stale since={view.dataUpdatedAt} now={now} why={view.error.detail} />}
      <Card flush label="Accounts">
        {!page ? (view.error ? <div className="body"><Failed error={view.error} retry={() => void view.refetch()} /></div> : <Loading lines={6} label="Loading accounts" />)
          : page.results.length === 0 ? <Empty title="No account matches" />
          : <Table accounts={page.results} now={now} open={(account) => set({ account })} />}
      </Card>
      <div className="row wrap">
        <Command text={hydractl("account", "list", ...filters)} />
        <span className="grow" />
        <div className="row">
          <Button variant="default" disabled={!page?.previous} onClick={() => set({ cursor: other(page?.previous) })}>Previous</Button>
          <Button variant="default" disabled={!page?.next} onClick={() => set({ cursor: other(page?.next) })}>Next</Button>
        </div>
      </div>
      {making && <CreateAccount onClose={() => setMaking(false)} />}
      {chosen && <AccountDialog key={chosen} username={chosen} me={me} onClose={() => set({ account: "" })} />}
    </>
  );
}

function Table({ accounts, now, open }: { accounts: Account[]; now: number; open: (name: string) => void }) {
  return (
    <div className="table-wrap">
      <table className="grid stacked labelled accounts">
        <thead><tr><th>Account</th><th>Role</th><th>Queues</th><th className="num">Tokens</th><th className="num">Last log-in</th></tr></thead>
        <tbody>
          {accounts.map((a) => (
            <tr key={a.id} data-closed={a.active ? undefined : ""}>
              <td><button type="button" className="linkish clip" aria-haspopup="dialog" onClick={() => open(a.username)}>{a.username}</button>{!a.active && <span className="tag">closed</span>}</td>
              <td>{ROLES.find((r) => r.value === a.role)?.label}</td>
              <td className="clip" data-label="Queues">{a.queues.length === 0 ? <span className="muted">{a.role === "tenant" ? "those open to all" : "all"}</span> : queueWords(a)}</td>
              <td className="num" data-label="Tokens" title={a.token_used_at ? `Last used ${moment(a.token_used_at)}` : undefined}>{a.tokens}</td>
              <td className="num" data-label="Last log-in">{a.last_login_at ? ago(a.last_login_at, now) : <span className="muted">never</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
