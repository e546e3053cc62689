/** What operators do with one node: cordon, drain after a look at what that does, take back, decommission. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ApiError, post } from "../../api/client";
import type { DrainPreview, Node } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import { count, moment } from "../../format/units";
import { topicKey, useRead } from "../../live/hooks";
import { Command, Confirm, Failed, Loading, Notice } from "../../ui/parts";
import { actsOn, DEADLINES, handedOf, TITLES, type Act } from "./duty";
import { hydractl } from "../../format/shell";

export default function NodeDuty({ node }: { node: Node }) {
  const choices = actsOn(node);
  const [asking, setAsking] = useState<Act | null>(() => handedOf(history.state, choices));
  useEffect(() => { // asked once: not again after a reload, or on the way back
    if (history.state) history.replaceState(null, "");
  }, []);
  usePaletteCommands(choices.map((act) => ({ name: `${TITLES[act]}: ${node.name}`, words: "this node", run: () => setAsking(act) })));
  return (
    <>
      {choices.map((act) => (
        <Button key={act} size="compact-sm" variant="default" onClick={() => setAsking(act)}>{TITLES[act]}{act === "drain" || act === "decommission" ? "…" : ""}</Button>
      ))}
      {asking && <Ask key={asking} act={asking} node={node} onClose={() => setAsking(null)} />}
    </>
  );
}

function Ask({ act, node, onClose }: { act: Act; node: Node; onClose: () => void }) {
  const [message, setMessage] = useState("");
  const [deadline, setDeadline] = useState("1h");
  const [now, setNow] = useState(false);
  const client = useQueryClient();
  const empties = act === "drain" || act === "decommission";
  const limit = DEADLINES.find((d) => d.value === deadline)?.seconds ?? null;
  const send = useMutation<Node, ApiError>({
    mutationFn: () => post<Node>(`/nodes/${node.id}/${act}`, { message, ...(empties ? { deadline_s: limit } : {}), ...(act === "decommission" ? { now } : {}) }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["read"] });
      void client.invalidateQueries({ queryKey: topicKey(`node:${node.id}`) });
      onClose();
    },
  });
  const words = ["node", act, `${node.sub_cluster}/${node.name}`, ...(empties && !now ? ["--deadline", deadline] : []),
    ...(now ? ["--now"] : []), ...(message ? ["--message", message] : [])];
  return (
    <Confirm title={`${TITLES[act]}: ${node.name}`} action={TITLES[act]} busy={send.isPending} error={send.error} onClose={onClose} onConfirm={() => send.mutate()}>
      <p>{WHAT[act]}</p>
      {empties && !now && <NativeSelect label="What still runs then is stopped" data={DEADLINES.map(({ value, label }) => ({ value, label }))} value={deadline} onChange={(e) => setDeadline(e.currentTarget.value)} />}
      {act === "decommission" && (
        <label className="row small"><input type="checkbox" checked={now} onChange={(e) => setNow(e.currentTarget.checked)} /> At once: what runs there is lost and starts again elsewhere</label>
      )}
      <TextInput label="Why" description="Owners of what moves read it" maxLength={255} value={message} onChange={(e) => setMessage(e.currentTarget.value)} />
      {now && (node.containers ?? 0) > 0 && <Notice kind="warn">{count(node.containers ?? 0)} {node.containers === 1 ? "container runs" : "containers run"} there now and would be lost at once.</Notice>}
      {empties && !now && <Preview node={node} limit={limit} />}
      <Command text={hydractl(...words)} />
    </Confirm>
  );
}

const WHAT: Record<Act, string> = {
  cordon: "No new containers come here. What runs here runs on.",
  uncordon: "The node takes containers again.",
  drain: "Tasks of services move at once, never more than half of a service at a time. Batch tasks may end by themselves until the deadline; what is stopped then starts again elsewhere, without counting as a failure.",
  decommission: "The node is drained. Once it is empty it leaves for good: its credential ends and its capacity is no longer counted. Its history stays.",
};

function Preview({ node, limit }: { node: Node; limit: number | null }) {
  const view = useRead<DrainPreview>(`/nodes/${node.id}/drain${limit === null ? "" : `?deadline_s=${limit}`}`);
  if (view.error) return <Failed error={view.error} />;
  const p = view.data;
  if (!p) return <Loading lines={2} label="Looking what runs there" />;
  if (p.services.length === 0 && p.batch.length === 0) return <p className="small muted">Nothing runs there now: it would be drained at once.</p>;
  const here = p.services.reduce((n, s) => n + s.tasks.length, 0);
  const fit = p.services.reduce((n, s) => n + s.fit, 0);
  return (
    <div className="drain-preview small" aria-label="What the drain would do">
      {p.services.length > 0 && (
        <table className="grid">
          <thead><tr><th>Service</th><th className="num">Tasks here</th><th className="num">Fit elsewhere</th></tr></thead>
          <tbody>{p.services.map((s) => (
            <tr key={`${s.job}/${s.group}`}><td className="clip">#{s.job} {s.job_name} / {s.group}</td><td className="num">{s.tasks.length} of {s.count}</td><td className="num">{s.fit}</td></tr>
          ))}</tbody>
        </table>
      )}
      {!p.services_fit && <Notice kind="warn">{fit === 0 ? `None of the ${count(here)} service tasks has room elsewhere now; they would wait.` : `Only ${count(fit)} of ${count(here)} service tasks have room elsewhere now; the others would wait.`}</Notice>}
      {p.batch.length > 0 && (
        <p>
          {p.deadline === null
            ? <>The drain lasts until {count(p.batch.length)} batch tasks have ended.</>
            : <>By {moment(p.deadline)}, of {count(p.batch.length)} batch tasks <b>{count(p.ends)}</b> end by themselves, <b>{count(p.stopped)}</b> would be stopped, and <b>{count(p.unknown)}</b> gave no estimate.</>}
        </p>
      )}
    </div>
  );
}
