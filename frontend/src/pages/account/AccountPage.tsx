/** One's own account: what it may, its tokens, its secrets, who is told of its jobs, its password. */
import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { post, wrongWith, type ApiError } from "../../api/client";
import { usePaletteCommands } from "../../app/palette/commands";
import type { PageProps } from "../../app/pages";
import type { KeptArtifactPage, Me, Page, Token, TokenMade } from "../../api/types";
import { useRead } from "../../live/hooks";
import { Card, Command, Confirm, Empty, Failed, Loading, Notice, useNow } from "../../ui/parts";
import "../admin/admin.css";
import { ShownOnce } from "../admin/ShownOnce";
import { Revoke, TokenTable } from "../admin/Tokens";
import { ROLES, span, VALID } from "../admin/words";
import { hydractl } from "../../format/shell";
import { bytes, many } from "../../format/units";
import { Receivers } from "./Receivers";
import { Secrets } from "./Secrets";

export default function AccountPage({ me }: PageProps) {
  return (
    <>
      <h1>Your account</h1>
      <Card title={me.username} aside={<Command text="hydractl me" />}>
        <p>{ROLES.find((r) => r.value === me.role)?.label}. {ROLES.find((r) => r.value === me.role)?.may}</p>
        {me.email && <p>Mail of your jobs, where you want it, goes to {me.email}.</p>}
        {me.queues.length > 0 && <p>Queues granted to you: {me.queues.map((q) => `${q.path} (${q.level})`).join(", ")}.</p>}
        <Kept />
      </Card>
      <Tokens />
      <Secrets editable={me.role !== "viewer"} />
      <Receivers editable={me.role !== "viewer"} email={me.email} />
      <Password me={me} />
    </>
  );
}

function Kept() {
  const kept = useRead<KeptArtifactPage>("/artifacts?page_size=1").data?.kept;
  if (!kept) return null;
  const most = kept.size_max === null ? "" : ` of at most ${bytes(kept.size_max)}`;
  return <p>You keep {many(kept.files, "artifact")}, {bytes(kept.size)}{most}: <span className="mono">hydractl artifacts list</span> has the largest first.</p>;
}

function Tokens() {
  const now = useNow(10_000);
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<Token | null>(null);
  const view = useRead<Page<Token>>("/me/tokens");
  usePaletteCommands([{ name: "New token", words: "for programs and CI", run: () => setMaking(true) }]);
  const tokens = view.data?.results;
  return (
    <Card title="Tokens" flush aside={<><Command text="hydractl token list" /><Button onClick={() => setMaking(true)}>New token…</Button></>}>
      {!tokens ? (view.error ? <div className="body"><Failed error={view.error} retry={() => void view.refetch()} /></div> : <Loading label="Loading tokens" />)
        : tokens.length === 0 ? <Empty title="You have no tokens">Programs and CI use one of their own, with your rights and an end.</Empty>
        : <TokenTable tokens={tokens} now={now} end={setEnding} />}
      {making && <MakeToken onClose={() => setMaking(false)} />}
      {ending && <Revoke token={ending} address={`/me/tokens/${encodeURIComponent(ending.key)}`} command={hydractl("token", "revoke", ending.key)} onClose={() => setEnding(null)} />}
    </Card>
  );
}

function MakeToken({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [valid, setValid] = useState("7776000");
  const client = useQueryClient();
  const make = useMutation<TokenMade, ApiError>({
    mutationFn: () => post<TokenMade>("/me/tokens", { name: name.trim(), valid_s: Number(valid) }),
    onSuccess: () => void client.invalidateQueries({ queryKey: ["read", "/me/tokens"] }),
  });
  if (make.data) return <ShownOnce title={`Token ${make.data.name}`} secret={make.data.token} onClose={onClose}><p className="small muted">Programs read it from <span className="mono">HYDRA_TOKEN</span>.</p></ShownOnce>;
  return (
    <Confirm title="New token" action="Make the token" busy={make.isPending} error={make.error} onClose={onClose} onConfirm={() => make.mutate()}>
      <p>A program that has it may do what you may, until it ends or you revoke it.</p>
      <TextInput label="Name" description="What it is for" required maxLength={64} autoComplete="off" value={name} onChange={(e) => setName(e.currentTarget.value)} />
      <NativeSelect label="Ends after" value={valid} onChange={(e) => setValid(e.currentTarget.value)} data={VALID} />
      <Command text={hydractl("token", "create", name || "NAME", "--valid", span(Number(valid)))} />
    </Confirm>
  );
}

/** Where the palette leads for another password, from this page and from all others. */
function useFirst() {
  const field = useRef<HTMLInputElement>(null);
  const focus = () => field.current?.focus();
  usePaletteCommands([{ name: "Change your password", run: focus }]);
  useEffect(() => {
    if (location.hash === "#password") setTimeout(focus); // after the page itself has got the focus
  }, []);
  return field;
}

function Password({ me }: { me: Me }) {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const client = useQueryClient();
  const first = useFirst();
  const change = useMutation<void, ApiError>({
    mutationFn: () => post<void>("/me/password", { current, password }),
    onSuccess: () => { setCurrent(""); setPassword(""); void client.invalidateQueries({ queryKey: ["read", "/me/tokens"] }); },
  });
  const wrong = (field: string) => wrongWith(change.error, field);
  const send = (e: FormEvent) => { e.preventDefault(); change.mutate(); };
  return (
    <Card title="Password" aside={<Command text="hydractl password" />}>
      <form className="password-form" onSubmit={send}>
        <input type="text" name="username" autoComplete="username" value={me.username} readOnly hidden />
        <PasswordInput ref={first} label="Present password" required autoComplete="current-password" value={current} error={wrong("current")} onChange={(e) => setCurrent(e.currentTarget.value)} />
        <PasswordInput label="New password" description="At least ten characters" required autoComplete="new-password" value={password} error={wrong("password")} onChange={(e) => setPassword(e.currentTarget.value)} />
        <p className="small muted">Every token of yours ends, and every session but this one.</p>
        {change.error && change.error.errors.length === 0 && <Failed error={change.error} />}
        {change.isSuccess && <Notice>The password is changed.</Notice>}
        <div><Button type="submit" variant="default" loading={change.isPending}>Change the password</Button></div>
      </form>
    </Card>
  );
}
