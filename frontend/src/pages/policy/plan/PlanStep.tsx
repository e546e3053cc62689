/** Before anything is pushed: what changes, what that does to the shares of now, what it would have done, and then the push. */
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { post, type ApiError } from "../../../api/client";
import { Card, Failed, Loading, Notice } from "../../../ui/parts";
import type { Check } from "../edit/useCheck";
import type { DraftView } from "../edit/useDraft";
import { Changes, Refusal } from "../parts";
import { Warnings } from "../Warnings";
import type { Diff, Plan, Policy } from "../types";
import { SimulateCard } from "../whatif/SimulateCard";
import { Conflict } from "./Conflict";
import { PushCard } from "./PushCard";
import { Shares } from "./Shares";

interface Props {
  draft: DraftView;
  active: Policy;
  check: Check;
  reread: () => Promise<Policy | undefined>;
  back: () => void;
  /** The simulation of this text, if one was asked for. */
  simulation: number | null;
  simulated: (id: number) => void;
}

export default function PlanStep({ draft, active, check, reread, back, simulation, simulated }: Props) {
  const document = check.reading.value;
  const [newer, setNewer] = useState<Policy | null>(null);
  const moved = newer ?? (active.base !== draft.base.base ? active : null);
  const ready = document !== null && check.state === "right";
  const diff = useQuery<Diff, ApiError>({
    queryKey: ["policy-diff", draft.base.version, draft.text], enabled: ready && !moved, retry: false,
    queryFn: () => post<Diff>("/policy/diff", { from: draft.base.version, document }),
  });
  const plan = useQuery<Plan, ApiError>({
    queryKey: ["policy-plan", active.version, draft.text], enabled: ready && !moved, retry: (failures, error) => error.status === 503 && failures < 6,
    retryDelay: 5_000, queryFn: () => post<Plan>("/policy/plan", { document }),
  });
  const stale = async () => {
    const now = await reread();
    if (now) setNewer(now);
  };
  return (
    <>
      <div className="policy-bar">
        <Button variant="default" onClick={back}>Back to the document</Button>
        <h2 className="grow">What it would do</h2>
        <span className="muted small">Made from version {draft.base.version}; nothing is changed yet.</span>
      </div>
      {moved && document ? (
        <Conflict key={moved.version} draft={draft} mine={document} theirs={moved} done={() => setNewer(null)} />
      ) : check.state === "checking" ? <Loading label="Checking the document" /> : !ready ? (
        <Notice kind="bad"><strong>The document is not right yet.</strong> {check.problems[0]?.message ?? check.error?.message} <button type="button" className="linkish" onClick={back}>Back to it</button></Notice>
      ) : (
        <>
          <Warnings warnings={check.warnings} />
          <Card title="What changes" aside={diff.data && <span className="muted small">{diff.data.total} {diff.data.total === 1 ? "change" : "changes"}</span>}>
            {diff.error ? <Refusal error={diff.error} /> : diff.data ? <Changes changes={diff.data.changes} total={diff.data.total} /> : <Loading lines={3} />}
            {diff.data && diff.data.overridden.length > 0 && <><h3 className="policy-sub">Temporary overrides go on over it, which are no part of this change</h3><Changes changes={diff.data.overridden} /></>}
          </Card>
          <Card title="What it does to the shares of now" aside={plan.data && <Ages plan={plan.data} />}>
            {plan.error ? <Failed error={plan.error} retry={() => void plan.refetch()} /> : plan.data ? <Shares plan={plan.data} /> : <Loading lines={6} label="Working the shares out" />}
          </Card>
          <SimulateCard what={{ document }} shown={simulation} show={simulated} />
          <PushCard draft={draft} document={document} diff={diff.data ?? null} onStale={() => void stale()} />
        </>
      )}
    </>
  );
}

/** How old is what the plan was worked out from. */
function Ages({ plan }: { plan: Plan }) {
  const oldest = Math.max(0, ...plan.sub_clusters.map((sc) => sc.age_s));
  const unled = plan.sub_clusters.filter((sc) => !sc.led);
  return (
    <span className="muted small">
      from what {plan.sub_clusters.length} {plan.sub_clusters.length === 1 ? "sub-cluster" : "sub-clusters"} said {oldest < 1.5 ? "a second" : `up to ${Math.round(oldest)} s`} ago
      {unled.length > 0 && `; nobody leads ${unled.map((sc) => sc.name).join(", ")}`}
    </span>
  );
}
