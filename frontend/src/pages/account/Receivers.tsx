/** Who is told of one's jobs: webhooks and mail, whether that arrives, and what each was told. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, put, remove, type ApiError } from "../../api/client";
import type { Notification, Page, Receiver, ReceiverKept } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import { hydractl } from "../../format/shell";
import { ago, moment } from "../../format/units";
import { useFollowed } from "../../live/hooks";
import { Choices } from "../../ui/choices";
import { Card, Command, Confirm, Empty, Failed, Loading, Notice, useNow } from "../../ui/parts";
import { ShownOnce } from "../admin/ShownOnce";
import { became, EVENTS, standing } from "./receivers";

const at = (name: string) => `/me/receivers/${encodeURIComponent(name)}`;

export function Receivers({ editable, email }: { editable: boolean; email: string }) {
  const [putting, setPutting] = useState<Receiver | "new" | null>(null);
  const [deleting, setDeleting] = useState<Receiver | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const view = useFollowed<Page<Receiver>>("/me/receivers");
  const receivers = view.data?.results;
  usePaletteCommands(editable ? [{ name: "New receiver", words: "webhook mail hear of jobs", run: () => setPutting("new") }] : []);
  return (
    <Card title="Hear of your jobs" flush aside={<><Command text="hydractl receiver list" />{editable && <Button onClick={() => setPutting("new")}>New receiver…</Button>}</>}>
      {!receivers ? (view.error ? <div className="body"><Failed error={view.error} retry={() => void view.refetch()} /></div> : <Loading label="Loading receivers" />)
        : receivers.length === 0 ? <Empty title="Nobody is told of your jobs">Webhooks and mail that job files name in <span className="mono">notify</span>, or that hear of all your jobs.</Empty>
        : <ReceiverTable receivers={receivers} editable={editable} change={setPutting} end={setDeleting} shown={shown} show={setShown} />}
      {shown !== null && <Told name={shown} next={receivers?.find((r) => r.name === shown)?.next_at ?? null} />}
      {putting !== null && <Put known={putting === "new" ? null : putting} email={email} onClose={() => setPutting(null)} />}
      {deleting && <Delete name={deleting.name} onClose={() => setDeleting(null)} />}
    </Card>
  );
}

interface TableProps {
  receivers: Receiver[];
  editable: boolean;
  change: (receiver: Receiver) => void;
  end: (receiver: Receiver) => void;
  shown: string | null;
  show: (name: string | null) => void;
}

function ReceiverTable({ receivers, editable, change, end, shown, show }: TableProps) {
  const now = useNow(10_000);
  return (
    <div className="table-wrap">
      <table className="grid stacked labelled">
        <thead><tr><th>Name</th><th>Leads to</th><th>Of every job</th><th>Now</th><th><span className="sr">Actions</span></th></tr></thead>
        <tbody>{receivers.map((r) => (
          <tr key={r.name}>
            <td className="mono clip">{r.name}</td>
            <td className="clip" data-label="Leads to">{r.address || "no address"}</td>
            <td data-label="Of every job">{r.every_job.join(", ") || "only where named"}</td>
            <td data-label="Now" className="wrap-any">{standing(r, now)}</td>
            <td className="num"><div className="row">
              <Button size="compact-sm" variant="default" aria-expanded={shown === r.name} aria-label={`What ${r.name} was told`} onClick={() => show(shown === r.name ? null : r.name)}>{shown === r.name ? "Hide" : "Told"}</Button>
              {editable && <Try name={r.name} />}
              {editable && <Button size="compact-sm" variant="default" aria-label={`Change ${r.name}`} onClick={() => change(r)}>Change…</Button>}
              <Button size="compact-sm" variant="default" aria-label={`Delete ${r.name}`} onClick={() => end(r)}>Delete…</Button>
            </div></td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function Try({ name }: { name: string }) {
  const client = useQueryClient();
  const send = useMutation<Notification, ApiError>({
    mutationFn: () => post<Notification>(`${at(name)}/test`),
    onSettled: () => void client.invalidateQueries({ queryKey: ["read"] }),
  });
  return <Button size="compact-sm" variant="default" loading={send.isPending} aria-label={`Test ${name}`} title={send.error?.message} onClick={() => send.mutate()}>{send.error ? "Refused" : send.isSuccess ? "On its way" : "Test"}</Button>;
}

/** What opens below what is seen would seem not to open. */
const seen = (element: HTMLElement | null) => element?.scrollIntoView({ block: "nearest" });

/** The newest of what a receiver was told and is to be told. */
function Told({ name, next }: { name: string; next: string | null }) {
  const now = useNow(10_000);
  const view = useFollowed<Page<Notification>>(`${at(name)}/notifications?page_size=20`);
  const told = view.data?.results;
  if (!told) return view.error ? <div className="body"><Failed error={view.error} retry={() => void view.refetch()} /></div> : <Loading label="Loading notifications" />;
  if (told.length === 0) return <Empty title={`${name} was told nothing lately`}>Try it with a test.</Empty>;
  return (
    <section ref={seen} className="table-wrap" aria-labelledby="told-of">
      <h3 id="told-of" className="told-of">What {name} was told</h3>
      <table className="grid stacked labelled">
        <thead><tr><th>What</th><th>Job</th><th className="num">When</th><th>What became of it</th></tr></thead>
        <tbody>{told.map((n) => (
          <tr key={n.id}>
            <td>{n.event}</td>
            <td data-label="Job" className="clip">{n.job ? <a href={`/jobs/${n.job.id}`}>{n.job.id} {n.job.name}</a> : "none"}</td>
            <td data-label="When" className="num" title={moment(n.at)}>{ago(n.at, now)}</td>
            <td data-label="What became of it" className="wrap-any">{became(n, next, now)}</td>
          </tr>
        ))}</tbody>
      </table>
    </section>
  );
}

/** known: the one that is changed. Where a webhook leads is not known here, and stays unless another address is given. */
function Put({ known, email, onClose }: { known: Receiver | null; email: string; onClose: () => void }) {
  const [name, setName] = useState(known?.name ?? "");
  const [kind, setKind] = useState(known?.kind ?? "webhook");
  const [webhook, setWebhook] = useState("");
  const [every, setEvery] = useState<string[]>(known?.every_job ?? []);
  const client = useQueryClient();
  const keep = useMutation<ReceiverKept, ApiError>({
    mutationFn: () => put<ReceiverKept>(at(name.trim()), { webhook: kind === "webhook" && webhook.trim() ? webhook.trim() : null, mail: kind === "mail", every_job: every }),
    onSuccess: (kept) => { void client.invalidateQueries({ queryKey: ["read", "/me/receivers"] }); if (!kept.signing_key) onClose(); },
  });
  if (keep.data?.signing_key) return (
    <ShownOnce title={`The key of ${keep.data.name}`} secret={keep.data.signing_key} kept="kept sealed" label="Copy the key" onClose={onClose}><p className="small muted">What it is told is signed with this key, as Standard Webhooks says.</p></ShownOnce>
  );
  const said = (field: string) => { const e = keep.error?.errors.find((x) => x.field === field); return e && `${e.message}; ${e.remedy}`; };
  const told = keep.error && !["name", "webhook", "mail"].some(said) ? keep.error : null;
  const where = kind === "mail" ? ["--mail"] : webhook ? ["--webhook", webhook] : [];
  return (
    <Confirm title={known ? `Change ${known.name}` : "New receiver"} action="Keep it" busy={keep.isPending} error={told} onClose={onClose} onConfirm={() => keep.mutate()}>
      {!known && <TextInput label="Name" description="Lower-case letters, digits and -; job files name it" required maxLength={63} autoComplete="off" spellCheck={false} value={name} error={said("name")} onChange={(e) => setName(e.currentTarget.value)} />}
      <NativeSelect label="What it is" value={kind} error={said("mail")} onChange={(e) => setKind(e.currentTarget.value as Receiver["kind"])} data={[{ value: "webhook", label: "A webhook" }, { value: "mail", label: email ? `Mail to ${email}` : "Mail" }]} />
      {kind === "mail" && !email && <Notice>Your account has no mail address; an operator can set one.</Notice>}
      {kind === "webhook" && <TextInput label="Address" description={known?.kind === "webhook" ? `Leads to ${known.address}; leave it empty to keep it` : "It is sealed, and never shown again"} placeholder="https://" autoComplete="off" spellCheck={false} value={webhook} error={said("webhook")} onChange={(e) => setWebhook(e.currentTarget.value)} />}
      <Choices label="Of every job of yours, also those that do not name it" all={EVENTS} chosen={every} change={setEvery} error={said("every_job")} />
      <Command text={hydractl("receiver", "put", name || "NAME", ...where, ...(every.length || !known ? every : ["none"]).flatMap((e) => ["--every-job", e]))} />
    </Confirm>
  );
}

function Delete({ name, onClose }: { name: string; onClose: () => void }) {
  const client = useQueryClient();
  const end = useMutation<void, ApiError>({
    mutationFn: () => remove(at(name)),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read", "/me/receivers"] }); onClose(); },
  });
  return (
    <Confirm title="Delete the receiver" action="Delete" busy={end.isPending} error={end.error} onClose={onClose} onConfirm={() => end.mutate()}>
      <p><strong>{name}</strong> is told nothing any more, and new jobs that name it are refused.</p>
      <Command text={hydractl("receiver", "delete", name)} />
    </Confirm>
  );
}
