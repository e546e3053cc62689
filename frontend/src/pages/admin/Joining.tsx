/** Sub-clusters from joining to leaving, and the tokens with which they and their nodes join. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { get, post, remove, type ApiError } from "../../api/client";
import type { JoinTokenLine, Me, Overview, Page, SubCluster } from "../../api/types";
import { ago, count, moment } from "../../format/units";
import { useRead, useTopic } from "../../live/hooks";
import { Card, Command, Confirm, Empty, Failed, Loading, useNow } from "../../ui/parts";
import { ToneIcon } from "../../ui/icons";
import { health } from "../overview/fleet";
import { ShownOnce } from "./ShownOnce";
import { joins, span, until, VALID } from "./words";
import { hydractl } from "../../format/shell";

const SubClusterLife = lazy(() => import("../overview/SubClusterLife"));
type Made = { token: string; sub_cluster?: string; name?: string };

export function Joining({ me }: { me: Me }) {
  const view = useTopic<Overview>("overview", (signal) => get<Overview>("/overview", signal));
  const [making, setMaking] = useState(false);
  const operator = me.role === "operator";
  const subs = view.data?.sub_clusters;
  return (
    <>
      <Card title="Sub-clusters" flush aside={<Command text="hydractl sub-clusters" />}>
        {!subs ? (view.error ? <div className="body"><Failed error={view.error} /></div> : <Loading label="Loading sub-clusters" />)
          : subs.length === 0 ? <Empty title="No sub-cluster yet">Make a token and register one with it.</Empty>
          : <ul className="parts">{subs.map((sc) => <Line key={sc.id} sc={sc} operator={operator} />)}</ul>}
      </Card>
      <Tokens operator={operator} make={() => setMaking(true)} />
      {making && <MakeToken subs={(subs ?? []).filter((s) => s.state !== "decommissioned")} onClose={() => setMaking(false)} />}
    </>
  );
}

function Line({ sc, operator }: { sc: SubCluster; operator: boolean }) {
  const gone = sc.state === "decommissioned";
  const shown = gone ? { tone: "waiting" as const, word: "Decommissioned", detail: "It has left for good; its history stays." } : health(sc);
  return (
    <li className="part sub-line">
      <span className={`state tone-${shown.tone}`}><ToneIcon tone={shown.tone} /></span>
      <div className="part-name"><strong className="clip">{sc.name}</strong><span className="small muted">{shown.word}</span></div>
      <div className="part-said"><span>{shown.detail}</span><span className="small muted">{count(sc.nodes.up ?? 0)} nodes up, {count(sc.live_containers)} containers</span></div>
      {operator && !gone && <Suspense><SubClusterLife sc={sc} /></Suspense>}
    </li>
  );
}

function Tokens({ operator, make }: { operator: boolean; make: () => void }) {
  const now = useNow(10_000);
  const client = useQueryClient();
  const view = useRead<Page<JoinTokenLine>>("/join-tokens");
  const [ending, setEnding] = useState<JoinTokenLine | null>(null);
  const end = useMutation<void, ApiError, JoinTokenLine>({
    mutationFn: (t) => remove(`/join-tokens/${t.kind === "node" ? "nodes" : "sub-clusters"}/${t.id}`),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); setEnding(null); },
  });
  const tokens = view.data?.results;
  return (
    <Card title="Join tokens" flush aside={<><Command text="hydractl join-token list" />{operator && <Button onClick={make}>New token…</Button>}</>}>
      {!tokens ? (view.error ? <div className="body"><Failed error={view.error} /></div> : <Loading label="Loading tokens" />)
        : tokens.length === 0 ? <Empty title="No token is valid">Nobody can join until an operator makes one.</Empty> : (
        <div className="table-wrap">
          <table className="grid stacked labelled">
            <thead><tr><th>Registers</th><th>Note</th><th className="num">Made</th><th className="num">Ends</th>{operator && <th><span className="sr">Actions</span></th>}</tr></thead>
            <tbody>{tokens.map((t) => (
              <tr key={`${t.kind}${t.id}`}>
                <td>{joins(t)}</td><td className="clip" data-label="Note">{t.note}</td>
                <td className="num" data-label="Made" title={moment(t.created_at)}>{ago(t.created_at, now)}</td><td className="num" data-label="Ends">{until(t.expires_at, now)}</td>
                {operator && <td className="num"><Button size="compact-sm" variant="default" aria-label={`Revoke the token: ${joins(t)}`} onClick={() => setEnding(t)}>Revoke…</Button></td>}
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
      {ending && (
        <Confirm title="Revoke the token" action="Revoke" busy={end.isPending} error={end.error} onClose={() => { end.reset(); setEnding(null); }} onConfirm={() => end.mutate(ending)}>
          <p>{joins(ending)} can no longer join with it. What has joined stays.</p>
          <Command text={hydractl("join-token", "revoke", `${ending.kind}/${ending.id}`)} />
        </Confirm>
      )}
    </Card>
  );
}

function MakeToken({ subs, onClose }: { subs: SubCluster[]; onClose: () => void }) {
  const [what, setWhat] = useState(subs[0]?.name ?? "");
  const [name, setName] = useState("");
  const [note, setNote] = useState("");
  const [valid, setValid] = useState("86400");
  const client = useQueryClient();
  const make = useMutation<Made, ApiError>({
    mutationFn: () => {
      const rest = { note, valid_s: Number(valid) };
      return what ? post<Made>(`/sub-clusters/${encodeURIComponent(what)}/join-tokens`, { node: name, ...rest }) : post<Made>("/sub-clusters/tokens", { name, ...rest });
    },
    onSuccess: () => void client.invalidateQueries({ queryKey: ["read"] }),
  });
  if (make.data) {
    const use = what ? <>in the file that <span className="mono">join_token_file</span> of its settings names; it goes once the node has joined</>
      : <span className="mono">{hydractl("sub-cluster", "register", name || "NAME", "--token", "-")}</span>;
    return <ShownOnce title={what ? `Join token of ${what}` : "Token of a new sub-cluster"} secret={make.data.token} onClose={onClose}><p className="small muted">On the new machine: {use}</p></ShownOnce>;
  }
  const more = [...(note ? ["--note", note] : []), "--valid", span(Number(valid))];
  return (
    <Confirm title="New join token" action="Make the token" busy={make.isPending} error={make.error} onClose={onClose} onConfirm={() => make.mutate()}>
      <NativeSelect label="It registers" value={what} onChange={(e) => setWhat(e.currentTarget.value)} data={[...subs.map((s) => ({ value: s.name, label: `Nodes of ${s.name}` })), { value: "", label: "One new sub-cluster" }]} />
      <TextInput label="Name" description={what ? "The only node it registers, once, even where another machine has the name; empty for any new one" : "The only one it may register; empty for any"} maxLength={63} value={name} onChange={(e) => setName(e.currentTarget.value)} />
      <TextInput label="Note" description="What it is for" maxLength={255} value={note} onChange={(e) => setNote(e.currentTarget.value)} />
      <NativeSelect label="Ends after" value={valid} onChange={(e) => setValid(e.currentTarget.value)} data={VALID.slice(0, 3)} />
      <Command text={what ? hydractl("sub-cluster", "join-token", what, ...(name ? ["--node", name] : []), ...more) : hydractl("sub-cluster", "token", ...(name ? ["--name", name] : []), ...more)} />
    </Confirm>
  );
}
