/** Changes that wait for a second operator. */
import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { ApiError, post } from "../../../api/client";
import type { Me, Page } from "../../../api/types";
import type { PageProps } from "../../../app/pages";
import { hydractl } from "../../../format/shell";
import { ago, moment } from "../../../format/units";
import { useFollowed } from "../../../live/hooks";
import { Card, Command, Confirm, Empty, Failed, Loading, useNow } from "../../../ui/parts";
import { decideCommand } from "../model/commands";
import { save } from "../model/draft";
import { documentText } from "../model/text";
import { Paged, useCursor } from "../pager";
import { TAB } from "../../../ui/tabstore";
import { Wide } from "../../../ui/wide";
import { Changes } from "../parts";
import { useSpread } from "../spread";
import { Warnings } from "../Warnings";
import type { Json, Proposal, ProposalRow } from "../types";

const WORDS: Record<Proposal["state"], string> = {
  pending: "waits", expired: "expired", stale: "stale: another version is in force by now", approved: "approved", rejected: "rejected", withdrawn: "withdrawn",
};

export default function ProposalsTab({ me, id }: PageProps & { id: string }) {
  const spread = useSpread();
  const signature = `${spread.data?.convergence?.version}`;
  const one = useFollowed<Proposal>(`/policy/proposals/${id}`, signature, Boolean(id));
  return (
    <>
      {id && (one.error && !one.data ? <Failed error={one.error} /> : !one.data ? <Loading /> : <One proposal={one.data} me={me} />)}
      <List chosen={id} signature={signature} />
    </>
  );
}

function List({ chosen, signature }: { chosen: string; signature: string }) {
  const [search, setSearch] = useSearchParams();
  const all = search.get("all") === "yes";
  const cursor = useCursor();
  const now = useNow(10_000);
  const page = useFollowed<Page<ProposalRow>>(`/policy/proposals?page_size=20${all ? "&all=yes" : ""}${cursor.query}`, signature);
  const toggle = () => setSearch(all ? {} : { all: "yes" });
  return (
    <Card flush title={all ? "Proposals" : "Proposals that wait"} aside={<>
      <button type="button" className="linkish small" onClick={toggle}>{all ? "only those that wait" : "also those decided"}</button>
      <Command text={hydractl("policy", "proposals", all && "--all")} />
    </>}>
      <Paged read={page} cursor={cursor} empty={<Empty title="No change waits">Where the policy wants a second operator's approval, what somebody pushes waits here. <Link href="/policy/edit?at=%2Fapproval">Approval is a part of the policy.</Link></Empty>}>{(rows) => (
        <Wide>
          <table className="grid" aria-label="Proposals">
            <thead><tr><th>Proposal</th><th>State</th><th>By</th><th>When</th><th className="num">Changes</th><th>Message</th></tr></thead>
            <tbody>
              {rows.map((p) => (
                <tr key={p.id} aria-current={String(p.id) === chosen || undefined}>
                  <td><Link href={`/policy/proposals/${p.id}`}>Proposal {p.id}</Link></td><td>{WORDS[p.state]}</td><td>{p.author}</td><td className="nowrap">{ago(p.created_at, now)}</td><td className="num">{p.changes.length}</td><td className="policy-message">{p.message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}</Paged>
    </Card>
  );
}

function One({ proposal, me }: { proposal: Proposal; me: Me }) {
  const [deciding, setDeciding] = useState<"approve" | "reject" | null>(null);
  const [, go] = useLocation();
  const own = proposal.author === me.username;
  const writes = me.role === "operator";
  const waits = proposal.state === "pending";
  const document = proposal.payload.document as Json | undefined;
  const goOn = () => {
    save(TAB, me.username, { text: documentText(document ?? {}), base: proposal.base, savedAt: Date.now() });
    go("/policy/edit");
  };
  return (
    <Card title={`Proposal ${proposal.id}: ${proposal.message}`} label={`Proposal ${proposal.id}`} aside={<span className="tag">{WORDS[proposal.state]}</span>}>
      <dl className="facts">
        <div><dt>By</dt><dd>{proposal.author}</dd></div><div><dt>What</dt><dd>{proposal.kind}</dd></div><div><dt>Made from version</dt><dd>{proposal.base}</dd></div><div><dt>Void after</dt><dd>{moment(proposal.expires_at)}</dd></div>
        {proposal.decided_by && <div><dt>Decided by</dt><dd>{proposal.decided_by}: {proposal.decision}</dd></div>}
        {proposal.result?.version && <div><dt>Came to</dt><dd>version {proposal.result.version}</dd></div>}
      </dl>
      <Warnings warnings={proposal.warnings} />
      <h3 className="policy-sub">What it changes</h3>
      <Changes changes={proposal.changes} />
      <div className="row wrap policy-actions">
        {writes && waits && !own && <Button onClick={() => setDeciding("approve")}>Approve…</Button>}
        {writes && waits && <Button variant="default" onClick={() => setDeciding("reject")}>{own ? "Take it back…" : "Reject…"}</Button>}
        {writes && document && <Button variant="default" onClick={goOn}>Go on with its document</Button>}
        <Command text={hydractl("policy", "proposals", proposal.id)} />
        {waits && !writes && <span className="muted small">An operator other than {proposal.author} decides.</span>}
        {writes && waits && own && <span className="muted small">Another operator must approve it.</span>}
      </div>
      {deciding && <Decide proposal={proposal} what={deciding} own={own} onClose={() => setDeciding(null)} />}
    </Card>
  );
}

function Decide({ proposal, what, own, onClose }: { proposal: Proposal; what: "approve" | "reject"; own: boolean; onClose: () => void }) {
  const [message, setMessage] = useState("");
  const client = useQueryClient();
  const send = useMutation<Proposal, ApiError>({
    mutationFn: () => (message.trim() ? post<Proposal>(`/policy/proposals/${proposal.id}/${what}`, { message }) : Promise.reject(new ApiError(0, "Say why", "Others read it in the history."))),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); onClose(); },
  });
  const word = what === "approve" ? "Approve" : own ? "Take back" : "Reject";
  return (
    <Confirm title={`${word} proposal ${proposal.id}`} action={word} busy={send.isPending} error={send.error} onClose={onClose} onConfirm={() => send.mutate()}>
      <p>{what === "approve" ? "It is carried out at once, in its author's name, with yours as who approved it." : "Nothing is changed in the cluster. Its author can make another one."}</p>
      <TextInput label="Why" maxLength={1000} value={message} onChange={(e) => setMessage(e.currentTarget.value)} />
      <Command text={decideCommand(what, proposal.id, message)} />
    </Confirm>
  );
}
