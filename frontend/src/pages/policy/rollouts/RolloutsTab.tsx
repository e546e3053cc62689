/** The rollout under way, who runs which version, and the rollouts there were. */
import { Link, useSearchParams } from "wouter";
import type { PageProps } from "../../../app/pages";
import type { Page } from "../../../api/types";
import { ago } from "../../../format/units";
import { useLiveness, useRead } from "../../../live/hooks";
import { Card, Command, Empty, Failed, Loading, Stale, useNow } from "../../../ui/parts";
import { Wide } from "../../../ui/wide";
import { Paged, useCursor } from "../pager";
import { useSpread } from "../spread";
import type { Convergence, Rollout } from "../types";
import { ConvergencePanel } from "./ConvergencePanel";
import { RolloutCard, RolloutState } from "./RolloutCard";

export default function RolloutsTab({ me, id }: PageProps & { id: string }) {
  const spread = useSpread();
  const now = useNow(5_000);
  const liveness = useLiveness();
  const [search] = useSearchParams();
  const version = search.get("version");
  const last = spread.data?.rollout ?? null;
  const chosen = id && last?.id !== Number(id);
  const one = useRead<Rollout>(`/policy/rollouts/${id}`, JSON.stringify(last), Boolean(chosen));
  const convergence = spread.data?.convergence ?? null;
  const wanted = version && Number(version) !== convergence?.version ? version : null;
  const older = useRead<Convergence>(`/policy/convergence?version=${wanted}`, JSON.stringify(convergence?.kinds), Boolean(wanted));
  const shown = chosen ? one.data : last;
  const panel = wanted ? (older.data ?? null) : convergence;
  if (spread.error && !spread.data) return <Failed error={spread.error} />;
  if (spread.loading) return <Loading lines={8} />;
  return (
    <>
      {liveness.state === "reconnecting" && spread.updatedAt > 0 && <Stale since={spread.updatedAt} now={now} />}
      {chosen && one.error && <Failed error={one.error} />}
      {shown && (shown.live || chosen || id) ? <RolloutCard rollout={shown} me={me} /> : null}
      {panel ? <ConvergencePanel found={panel} /> : wanted && older.error ? <Failed error={older.error} /> : <Card><Empty title="No policy is in force yet" /></Card>}
      <Past now={now} signature={`${last?.id} ${last?.state}`} />
    </>
  );
}

function Past({ now, signature }: { now: number; signature: string }) {
  const cursor = useCursor();
  const page = useRead<Page<Rollout>>(`/policy/rollouts?page_size=15${cursor.query}`, signature);
  return (
    <Card flush title="Rollouts" aside={<Command text="hydractl policy rollout list" />}>
      <Paged read={page} cursor={cursor} empty={<Empty title="There was none">Push a version in stages, and it is followed here.</Empty>}>{(rows) => (
        <Wide>
          <table className="grid" aria-label="Rollouts">
            <thead><tr><th>Rollout</th><th>State</th><th className="num">Version</th><th>Stages</th><th>By</th><th>When</th><th>Why it is where it is</th></tr></thead>
            <tbody>
              {rows.map((r) => (
                <tr key={r.id}>
                  <td><Link href={`/policy/rollouts/${r.id}`}>Rollout {r.id}</Link></td><td><RolloutState state={r.state} /></td><td className="num">{r.version}</td>
                  <td>{r.stages.map((s) => s.sub_clusters.join(", ") || "everywhere").join(" → ")}</td><td>{r.author ?? "the system"}</td><td className="nowrap">{ago(r.created_at, now)}</td><td className="policy-message">{r.message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}</Paged>
    </Card>
  );
}
