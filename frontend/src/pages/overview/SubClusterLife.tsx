/** What operators do with one sub-cluster: drain it after a look at what that does, resume it, let it leave. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { ApiError, post } from "../../api/client";
import type { SubCluster, SubClusterDrainPreview } from "../../api/types";
import { AXES, amounts } from "../../format/resources";
import { count, duration, many, moment } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Command, Confirm, Failed, Loading, Notice } from "../../ui/parts";
import { DEADLINES } from "../fleet/duty";
import { keptBy } from "./fleet";
import { hydractl } from "../../format/shell";

const HOUR_S = 3600;

type Act = "drain" | "resume" | "decommission";
const TITLES: Record<Act, string> = { drain: "Drain", resume: "Resume", decommission: "Decommission" };
const CHOICES: Record<string, Act[]> = { running: ["drain"], draining: ["resume", "decommission"], joining: ["decommission"], lost: ["decommission"] };
const WHAT: Record<Act, string> = {
  drain: "Nothing new is sent here, and its nodes take no more containers. Tasks of services leave at once, never more than half of a service at a time; batch tasks may end by themselves until the deadline. Once no container is left, its jobs get other homes and go on there.",
  resume: "It gets jobs again, and its nodes take containers.",
  decommission: "It leaves for good: its RM stops, its nodes' credentials and its join tokens end. This is refused while something is left there. Its history stays.",
};

export default function SubClusterLife({ sc }: { sc: SubCluster }) {
  const [asking, setAsking] = useState<Act | null>(null);
  const kept = keptBy(sc);
  const stays = kept && sc.state === "lost" ? `kept-${sc.name}` : "";
  return (
    <>
      {stays && <p id={stays} className="small">It can be decommissioned once nothing is left there: {kept}.</p>}
      <div className="row wrap">
        {(CHOICES[sc.state] ?? []).map((act) => (
          <Button key={act} size="compact-sm" variant="default" disabled={act === "decommission" && kept !== ""} title={(act === "decommission" && kept) || undefined}
            aria-describedby={(act === "decommission" && stays) || undefined} onClick={() => setAsking(act)}>{TITLES[act]} sub-cluster{act === "resume" ? "" : "…"}</Button>
        ))}
        {asking && <Ask key={asking} act={asking} sc={sc} onClose={() => setAsking(null)} />}
      </div>
    </>
  );
}

function Ask({ act, sc, onClose }: { act: Act; sc: SubCluster; onClose: () => void }) {
  const [message, setMessage] = useState("");
  const [deadline, setDeadline] = useState("never");
  const client = useQueryClient();
  const limit = DEADLINES.find((d) => d.value === deadline)?.seconds ?? null;
  const send = useMutation<SubCluster, ApiError>({
    mutationFn: () => post<SubCluster>(`/sub-clusters/${encodeURIComponent(sc.name)}/${act}`, { message, ...(act === "drain" ? { deadline_s: limit } : {}) }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["read"] });
      void client.invalidateQueries({ queryKey: ["topic", "overview"] });
      onClose();
    },
  });
  const words = ["sub-cluster", act, sc.name, ...(act === "drain" ? ["--deadline", deadline] : []), ...(message ? ["--message", message] : [])];
  return (
    <Confirm title={`${TITLES[act]}: ${sc.name}`} action={TITLES[act]} busy={send.isPending} error={send.error} onClose={onClose} onConfirm={() => send.mutate()}>
      <p>{WHAT[act]}</p>
      {act === "drain" && <NativeSelect label="What still runs then is stopped" data={DEADLINES.map(({ value, label }) => ({ value, label }))} value={deadline} onChange={(e) => setDeadline(e.currentTarget.value)} />}
      <TextInput label="Why" description="Owners of what moves read it" maxLength={255} value={message} onChange={(e) => setMessage(e.currentTarget.value)} />
      {act === "drain" && <Preview sc={sc} limit={limit} />}
      {act === "drain" && <WouldWait sc={sc} deadline={deadline} limit={limit} />}
      <Command text={hydractl(...words)} />
    </Confirm>
  );
}

/** Asks the simulator who would wait, and for how long, and goes to where it answers. */
function WouldWait({ sc, deadline, limit }: { sc: SubCluster; deadline: string; limit: number | null }) {
  const [, go] = useLocation();
  const ask = useMutation<{ id: number }, ApiError>({
    mutationFn: () => post<{ id: number }>("/simulations", { drain: sc.name, ...(limit === null ? {} : { deadline_s: limit }) }),
    onSuccess: ({ id }) => go(`/policy/simulations/${id}`),
  });
  return (
    <div className="drain-simulate">
      <Button size="compact-sm" variant="default" loading={ask.isPending} onClick={() => ask.mutate()}>Simulate the next {duration(1000 * ((limit ?? 0) + HOUR_S))}</Button>
      <span className="muted small">who would wait, and how much longer; nothing is drained by it</span>
      <Command text={hydractl("sub-cluster", "simulate-drain", sc.name, ...(limit === null ? [] : ["--deadline", deadline]))} />
      {ask.error && <Failed error={ask.error} />}
    </div>
  );
}

function Preview({ sc, limit }: { sc: SubCluster; limit: number | null }) {
  const view = useRead<SubClusterDrainPreview>(`/sub-clusters/${encodeURIComponent(sc.name)}/drain-preview${limit === null ? "" : `?deadline_s=${limit}`}`);
  if (view.error) return <Failed error={view.error} />;
  const p = view.data;
  if (!p) return <Loading lines={3} label="Looking what runs there" />;
  if (!p.containers && !p.jobs) return <p className="small muted">No job is at home there and nothing runs there: it would be empty at once.</p>;
  const batch = p.ends + p.stopped + p.unknown;
  const moves = AXES.some((axis) => p.moves[axis] > 0);
  return (
    <div className="drain-preview small" aria-label="What the drain would do">
      <p>{many(p.jobs, "job")} at home, {many(p.containers, "container")}{p.guests ? `, ${count(p.guests)} of them of jobs at home elsewhere` : ""}. {p.services > 0 && <>{count(p.services)} of services leave at once. </>}
        {batch > 0 && (p.deadline === null ? <>{count(batch)} of batch tasks may end by themselves.</>
          : <>By {moment(p.deadline)}, of {count(batch)} batch tasks <b>{count(p.ends)}</b> end by themselves, <b>{count(p.stopped)}</b> would be stopped, and <b>{count(p.unknown)}</b> gave no estimate.</>)}
      </p>
      {p.queues.length > 0 && (
        <table className="grid">
          <thead><tr><th>Queue</th><th className="num">Jobs</th><th className="num">Containers</th></tr></thead>
          <tbody>{p.queues.map((q) => <tr key={q.queue}><td className="clip">{q.queue}</td><td className="num">{count(q.jobs)}</td><td className="num">{count(q.containers)}</td></tr>)}</tbody>
        </table>
      )}
      {p.others.length > 0 && (
        <table className="grid">
          <thead><tr><th>Elsewhere</th><th className="num">Open nodes</th><th className="num">Full now</th><th className="num">Afterwards</th></tr></thead>
          <tbody>{p.others.map((s) => <tr key={s.sub_cluster}><td className="clip">{s.sub_cluster}</td><td className="num">{count(s.nodes)}</td><td className="num">{s.percent} %</td><td className="num">{s.percent_after} %</td></tr>)}</tbody>
        </table>
      )}
      {p.over_maximum.length > 0 && <Notice kind="warn">Maxima keep {count(p.over_maximum.reduce((sum, q) => sum + q.containers, 0))} of what leaves waiting: {p.over_maximum.slice(0, 10).map((q) => `${q.queue} ${count(q.containers)}`).join(", ")}{p.over_maximum.length > 10 ? " …" : ""}. Raise them, or let some of it end first.</Notice>}
      {moves && !p.fits && !p.over_maximum.length && <Notice kind="warn">What leaves ({amounts(p.moves)}) has no room elsewhere now; some of it would wait.</Notice>}
      {p.tied_groups > 0 && (
        <>
          <Notice kind="warn">{p.tied_groups === 1 ? "One task group" : `${count(p.tied_groups)} task groups`} can run nowhere else.</Notice>
          <table className="grid">
            <thead><tr><th>Job</th><th>Group</th><th className="num">Containers</th><th>Because</th></tr></thead>
            <tbody>{p.tied.slice(0, 20).map((t) => <tr key={`${t.job}/${t.group}`}><td className="clip">#{t.job} {t.job_name}</td><td>{t.group}</td><td className="num">{count(t.containers)}</td><td>{t.why}</td></tr>)}</tbody>
          </table>
        </>
      )}
    </div>
  );
}
