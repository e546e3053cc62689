/** One rollout: its stages, its guards as they are now, and the reins. */
import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { post, type ApiError } from "../../../api/client";
import type { Me } from "../../../api/types";
import { usePaletteCommands } from "../../../app/palette/commands";
import { coarse, duration, moment } from "../../../format/units";
import type { Tone } from "../../../format/states";
import { ToneIcon } from "../../../ui/icons";
import { Card, Command, Confirm, useNow } from "../../../ui/parts";
import { steerCommand } from "../model/commands";
import { guardRows } from "../model/guards";
import { soakLeft, STATES } from "../model/spreading";
import { Wide } from "../../../ui/wide";
import type { Rollout } from "../types";

type Order = "pause" | "resume" | "abort";
const ORDERS: Record<Order, { title: string; says: string; action: string }> = {
  pause: { title: "Pause the rollout", says: "Nobody else is told the version; what runs it goes on.", action: "Pause" },
  resume: { title: "Resume the rollout", says: "It goes on with the stage it is in, which is watched anew.", action: "Resume" },
  abort: { title: "Abort the rollout", says: "What was before holds again, as a new version, wherever this one was told.", action: "Abort" },
};

export function RolloutState({ state }: { state: Rollout["state"] }) {
  const { word, tone } = STATES[state];
  return <span className={`state tone-${tone}`} data-state={state}><ToneIcon tone={tone as Tone} /><span>{word}</span></span>;
}

export function RolloutCard({ rollout, me }: { rollout: Rollout; me: Me }) {
  const [order, setOrder] = useState<Order | null>(null);
  const paused = rollout.state === "paused";
  const steerable = rollout.live && rollout.state !== "rolling_back" && me.role === "operator";
  const orders: Order[] = !steerable ? [] : [paused ? "resume" : "pause", "abort"];
  usePaletteCommands(orders.map((to) => ({ name: `${ORDERS[to].action} rollout ${rollout.id}`, words: `version ${rollout.version}`, run: () => setOrder(to) })));
  return (
    <Card title={<Link href={`/policy/rollouts/${rollout.id}`}>Rollout {rollout.id} of version {rollout.version}</Link>} label={`Rollout ${rollout.id}`} aside={<RolloutState state={rollout.state} />}>
      <dl className="facts">
        <div><dt>From version</dt><dd>{rollout.from_version}</dd></div>
        <div><dt>Begun by</dt><dd>{rollout.author ?? "the system"}</dd></div>
        <div><dt>Began</dt><dd>{moment(rollout.created_at)}</dd></div>
        {rollout.ended_at && <div><dt>Took</dt><dd>{duration(Date.parse(rollout.ended_at) - Date.parse(rollout.created_at))}</dd></div>}
        {rollout.rollback_version && <div><dt>Rolled back by</dt><dd>version {rollout.rollback_version}</dd></div>}
        <div><dt>When a guard is broken</dt><dd>{rollout.on_breach === "pause" ? "it pauses" : "it is rolled back"}</dd></div>
      </dl>
      <p className="policy-why" role="status">{rollout.message}</p>
      <Stages rollout={rollout} />
      <Guards rollout={rollout} />
      {steerable && (
        <div className="row wrap policy-actions">
          {paused ? <Button onClick={() => setOrder("resume")}>Resume…</Button> : <Button variant="default" onClick={() => setOrder("pause")}>Pause…</Button>}
          <Button variant="default" onClick={() => setOrder("abort")}>Abort…</Button>
          <Command text={`hydractl policy rollout status ${rollout.id} -f`} />
        </div>
      )}
      {order && <Steer rollout={rollout} order={order} onClose={() => setOrder(null)} />}
    </Card>
  );
}

function Stages({ rollout }: { rollout: Rollout }) {
  const now = useNow();
  const left = soakLeft(rollout, now);
  const over = rollout.state === "completed";
  const ended = !over && !rollout.live; // before its last stage
  return (
    <ol className="policy-steps" aria-label="Stages">
      {rollout.stages.map((stage, at) => {
        const later = stage.everywhere ? "then in force everywhere, and watched" : "then watched";
        const done = over || at < rollout.stage;
        const here = !over && at === rollout.stage && rollout.live;
        const stopped = ended && at === rollout.stage;
        const part = here && left !== null && stage.soak_s > 0 ? 1 - left / (1000 * stage.soak_s) : done ? 1 : 0;
        return (
          <li key={at} data-at={done ? "done" : here ? "here" : stopped ? "stopped" : "later"} aria-current={here ? "step" : undefined}>
            <b>{stage.everywhere ? "Everywhere" : at === 0 && rollout.stages.length > 1 ? "Canary" : `Stage ${at + 1}`}</b>
            <span className="wrap-any">{stage.sub_clusters.join(", ")}</span>
            <svg width="100%" height="6" aria-hidden="true" className="policy-thin"><rect className="ground" width="100%" height="6" /><rect className="full" width={`${100 * part}%`} height="6" /></svg>
            <span className="muted small">
              {done ? `${stage.everywhere ? "in force, " : ""}was watched for ${stage.soak_s} s` : here && left !== null ? `watched for ${coarse(left)} more` : here || stopped ? STATES[rollout.state].word.toLowerCase() : ended ? "not reached" : `${later} for ${stage.soak_s} s`}
            </span>
          </li>
        );
      })}
      {!rollout.stages.at(-1)?.everywhere && <li data-at={over ? "done" : "later"}><b>Everywhere</b><span className="muted small">{over ? "in force" : ended ? "not reached" : "then in force everywhere, not watched"}</span></li>}
    </ol>
  );
}

function Guards({ rollout }: { rollout: Rollout }) {
  const rows = guardRows(rollout);
  if (!rows.length) return <p className="muted small">No guard watches it: only whoever looks stops it.</p>;
  return (
    <Wide>
      <table className="grid" aria-label="Guards">
        <thead><tr><th>Guard</th><th className="num">Before the push</th><th className="num">Now</th><th className="num">Allows</th><th className="policy-barcell">Used up</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name} data-broken={row.part !== null && row.part > 1 ? "" : undefined}>
              <td>{row.label}</td><td className="num">{row.before}</td><td className="num"><b>{row.now}</b></td><td className="num">{row.limit}</td>
              <td className="policy-barcell">
                {row.part === null ? <span className="muted small">too little to say</span> : (
                  <span className="policy-of">
                    <svg width="100%" height="8" aria-hidden="true" className="policy-thin"><rect className="ground" width="100%" height="8" /><rect className={row.part > 1 ? "over" : row.part > 0.7 ? "some" : "full"} width={`${Math.min(100, 100 * row.part)}%`} height="8" /></svg>
                    <span>{Math.round(100 * row.part)} %{row.part > 1 ? ", over" : ""}</span>
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Steer({ rollout, order, onClose }: { rollout: Rollout; order: Order; onClose: () => void }) {
  const [message, setMessage] = useState("");
  const client = useQueryClient();
  const send = useMutation<Rollout, ApiError>({
    mutationFn: () => post<Rollout>(`/policy/rollouts/${rollout.id}/${order}`, { message }),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); onClose(); },
  });
  const { title, says, action } = ORDERS[order];
  return (
    <Confirm title={title} action={action} busy={send.isPending} error={send.error} onClose={onClose} onConfirm={() => send.mutate()}>
      <p>{says}</p>
      <TextInput label="Why" description="Others read it" maxLength={1000} value={message} onChange={(e) => setMessage(e.currentTarget.value)} />
      <Command text={steerCommand(order, rollout.id, message)} />
    </Confirm>
  );
}
