/** Versions with author, message and time; any two compared; what one would have done; one put in force again. */
import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { useLocation } from "wouter";
import { API, ApiError, call, get, post } from "../../../api/client";
import type { Page } from "../../../api/types";
import type { PageProps } from "../../../app/pages";
import { ago, moment } from "../../../format/units";
import { useRead } from "../../../live/hooks";
import { Card, Command, Confirm, Empty, Loading, useNow } from "../../../ui/parts";
import { rollbackCommand } from "../model/commands";
import { Paged, useChosen, useCursor } from "../pager";
import { Wide } from "../../../ui/wide";
import { Changes, Refusal } from "../parts";
import { useSpread } from "../spread";
import type { Diff, Policy, PolicyRow, Proposal } from "../types";
import { OfVersion } from "../whatif/OfVersion";

const TextDiff = lazy(() => import("./TextDiff"));

export default function HistoryTab({ me }: PageProps) {
  const spread = useSpread();
  const [search, put] = useChosen();
  const cursor = useCursor();
  const now = useNow(10_000);
  const [back, setBack] = useState<PolicyRow | null>(null);
  const page = useRead<Page<PolicyRow>>(`/policy/versions?page_size=25${cursor.query}`, spread.data?.convergence?.version ?? "");
  const [first, second] = [search.get("from"), search.get("to")];
  const simulated = Number(search.get("version")) || null;
  return (
    <>
      {simulated && <OfVersion key={simulated} version={simulated} inForce={simulated === spread.data?.convergence?.version} shown={Number(search.get("simulation")) || null} show={(id) => put({ simulation: String(id) })} close={() => put({ version: null, simulation: null })} />}
      {first && second && <Compared first={Number(first)} second={Number(second)} />}
      <Card flush title="Versions" aside={<><span className="muted small">choose two to compare them</span><Command text="hydractl policy versions" /></>}>
        <Paged read={page} cursor={cursor} empty={<Empty title="There is no policy yet" />}>{(rows) => (
          <Wide>
            <table className="grid policy-versions" aria-label="Versions">
              <thead><tr><th>From, to</th><th className="num">Version</th><th>Message</th><th>By</th><th>When</th><th><span className="sr">Actions</span></th></tr></thead>
              <tbody>
                {rows.map((v) => (
                  <tr key={v.version} aria-current={v.active || undefined}>
                    <td className="nowrap">
                      <label className="policy-pick"><input type="radio" name="from" checked={first === String(v.version)} onChange={() => put({ from: String(v.version) })} aria-label={`Compare from version ${v.version}`} /></label>
                      <label className="policy-pick"><input type="radio" name="to" checked={second === String(v.version)} onChange={() => put({ to: String(v.version) })} aria-label={`Compare to version ${v.version}`} /></label>
                    </td>
                    <td className="num"><b>{v.version}</b></td>
                    <td className="policy-message">{v.message}{v.active && <> <span className="tag">in force</span></>}{v.overrides.length > 0 && <> <span className="tag">{v.overrides.length} {v.overrides.length === 1 ? "override" : "overrides"}</span></>}</td>
                    <td>{v.author ?? "the system"}{v.approved_by && <div className="muted small">approved by {v.approved_by}</div>}</td>
                    <td className="nowrap" title={moment(v.at)}>{ago(v.at, now)}</td>
                    <td className="num policy-acts">
                      <Button variant="default" size="compact-sm" aria-pressed={v.version === simulated} aria-label={`What would version ${v.version} have done?`} onClick={() => put({ version: v.version === simulated ? null : String(v.version), simulation: null })}>What if</Button>{" "}
                      {me.role === "operator" && <Button variant="default" size="compact-sm" disabled={v.active} aria-label={`Roll back to version ${v.version}…`} onClick={() => setBack(v)}>Roll back…</Button>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
        )}</Paged>
      </Card>
      {back && <RollBack version={back.version} onClose={() => setBack(null)} />}
    </>
  );
}

function useDiff(first: number | null, second: number | null, enabled = true) {
  return useQuery<Diff, ApiError>({ enabled, queryKey: ["policy-diff", first, second], queryFn: () => post<Diff>("/policy/diff", { from: first, to: second }), retry: false, staleTime: Infinity });
}

function Compared({ first, second }: { first: number; second: number }) {
  const diff = useDiff(first, second);
  const [text, setText] = useState(false);
  return (
    <Card title={`Version ${first} to ${second}`} label="Comparison" aside={<button type="button" className="linkish small" aria-pressed={text} onClick={() => setText(!text)}>{text ? "in words" : "as text"}</button>}>
      {diff.error ? <Refusal error={diff.error} /> : !diff.data ? <Loading lines={3} /> : text ? <Suspense fallback={<Loading />}><TextDiff first={first} second={second} /></Suspense> : <Changes changes={diff.data.changes} total={diff.data.total} empty="They say the same." />}
      <div className="policy-actions"><Command text={`hydractl policy diff ${first} ${second}`} /></div>
    </Card>
  );
}

/** Back from the version that is in force when this is opened: one that comes into force meanwhile is not overwritten. */
function RollBack({ version, onClose }: { version: number; onClose: () => void }) {
  const [message, setMessage] = useState(`Back to version ${version}`);
  const read = useQuery<Policy, ApiError>({ queryKey: ["policy-in-force"], queryFn: ({ signal }) => get<Policy>("/policy", signal), gcTime: 0, staleTime: Infinity, retry: 1 });
  const active = read.data?.version ?? null;
  const diff = useDiff(active, version, active !== null);
  const client = useQueryClient();
  const [, go] = useLocation();
  const send = useMutation<Policy | Proposal, ApiError>({
    mutationFn: () => {
      if (!message.trim()) return Promise.reject(new ApiError(0, "The change has no message", "Say why."));
      return call<Policy | Proposal>(`${API}/policy/rollback`, { method: "POST", json: { version, message, parent: active }, headers: { "If-Match": `"${active}"` } });
    },
    onSuccess: (done) => {
      void client.invalidateQueries({ queryKey: ["read"] });
      onClose();
      go("document" in done ? `/policy/rollouts?version=${done.version}` : `/policy/proposals/${done.id}`);
    },
  });
  return (
    <Confirm title={`Roll back to version ${version}`} action="Roll back" busy={send.isPending} error={send.error ?? read.error} ready={active !== null} onClose={onClose} onConfirm={() => send.mutate()}>
      <p>What version {version} says comes into force everywhere, as a new version. This changes:</p>
      <div className="policy-scroll">{diff.error ? <Refusal error={diff.error} /> : diff.data ? <Changes changes={diff.data.changes} total={diff.data.total} /> : <Loading lines={2} />}</div>
      <Textarea label="Why" autosize minRows={2} maxLength={1000} value={message} onChange={(e) => setMessage(e.currentTarget.value)} />
      <Command text={rollbackCommand(version, message)} />
    </Confirm>
  );
}
