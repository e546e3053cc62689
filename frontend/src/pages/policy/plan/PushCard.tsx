/** The push: why, to all or in stages, and what stops it. */
import { Button, SegmentedControl, Textarea } from "@mantine/core";
import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { API, ApiError, call } from "../../../api/client";
import type { Page, SubCluster } from "../../../api/types";
import { useRead } from "../../../live/hooks";
import { Card, Command } from "../../../ui/parts";
import { SaveAs } from "../../../ui/save";
import type { DraftView } from "../edit/useDraft";
import { pushCommand } from "../model/commands";
import { triedFirst } from "../model/spreading";
import { guardsFrom } from "../model/guards";
import { fileText } from "../model/text";
import { Refusal } from "../parts";
import type { Diff, Json, Policy, Proposal, Rollout, Stage } from "../types";
import { Stages, type StagedPlan } from "./Stages";

type How = "all" | "watched" | "staged";

type Outcome = { kind: "version"; version: number } | { kind: "rollout"; rollout: number } | { kind: "proposal"; proposal: number };

function outcomeOf(answer: Policy | Proposal | Rollout): Outcome {
  if ("document" in answer) return { kind: "version", version: answer.version };
  return "stages" in answer ? { kind: "rollout", rollout: answer.id } : { kind: "proposal", proposal: answer.id };
}

interface Props {
  draft: DraftView;
  document: Json;
  /** Null until it is known what changes. */
  diff: Diff | null;
  onStale: () => void;
}

interface Sent {
  path: string;
  json: Json;
}

/** Sends what ``asked`` says, or refuses by what that throws; then goes to what has come of it. */
function usePush(draft: DraftView, onStale: () => void, asked: () => Sent): UseMutationResult<Outcome, ApiError, void> {
  const client = useQueryClient();
  const [, go] = useLocation();
  return useMutation<Outcome, ApiError>({
    mutationFn: async () => {
      const { path, json } = asked();
      const headers = { "If-Match": `"${draft.base.version}"` };
      return outcomeOf(await call<Policy | Proposal | Rollout>(API + path, { method: "POST", json, headers }));
    },
    onSuccess: (done) => {
      draft.discard();
      void client.invalidateQueries({ queryKey: ["read"] });
      go(done.kind === "proposal" ? `/policy/proposals/${done.proposal}` : done.kind === "rollout" ? `/policy/rollouts/${done.rollout}` : `/policy/rollouts?version=${done.version}`);
    },
    onError: (error) => {
      if (error.status === 412) onStale();
    },
  });
}

/** What is in force already may not be for long: a version on its way to all is named. */
function Nothing() {
  const last = useRead<Page<Rollout>>("/policy/rollouts?page_size=1", "", true).data?.results[0];
  return (
    <span className="muted small">
      Nothing changes: there is nothing to push.
      {last?.live && <> <Link href={`/policy/rollouts/${last.id}`}>A rollout of version {last.version}</Link> is under way: wait for it, or abort it there.</>}
    </span>
  );
}

export function PushCard({ draft, document, diff, onStale }: Props) {
  const nothing = diff?.identical ?? false;
  const [message, setMessage] = useState("");
  const [how, setHow] = useState<How>("all");
  const [force, setForce] = useState(false);
  const subs = useRead<Page<SubCluster>>("/sub-clusters", "", true);
  const names = (subs.data?.results ?? []).filter((sc) => sc.state === "running" || sc.state === "draining").map((sc) => sc.name);
  const [staged, setStaged] = useState<StagedPlan>({ stages: null, watch: 60, guards: {}, onBreach: "rollback" });
  const chosen: Stage[] = staged.stages ?? (names[0] ? [{ sub_clusters: [names[0]], soak_s: 60, everywhere: false }] : []);
  const named = how === "staged" ? chosen : [];
  const all: Stage[] = how === "watched" || staged.watch > 0 ? [{ sub_clusters: [], soak_s: staged.watch, everywhere: true }] : [];
  const stages = [...named, ...all];
  const guards = guardsFrom(staged.guards);
  const send = usePush(draft, onStale, () => {
    if (!message.trim()) throw new ApiError(0, "The change has no message", "Say what changes and why: others read it in the list of versions.");
    if (how !== "all" && guards === null) throw new ApiError(0, "A guard is not a number above 0", "Correct it or leave it out; shares are 0 to 100 %.");
    const body = { document, message, parent: draft.base.version };
    return how === "all" ? { path: "/policy", json: { ...body, force } } : { path: "/policy/rollouts", json: { ...body, stages, guards, on_breach: staged.onBreach } };
  });
  const forced = send.error?.status === 409 && how === "all" && !force;
  return (
    <Card title="Push it">
      <form className="policy-push" onSubmit={(e) => { e.preventDefault(); send.mutate(); }}>
        <Textarea label="What changes, and why" description="Everybody reads it in the history. Required." autosize minRows={2} maxLength={1000} value={message} onChange={(e) => { setMessage(e.currentTarget.value); send.reset(); }} />
        <SegmentedControl aria-label="To whom" value={how} onChange={(v) => setHow(v as How)} data={[{ value: "all", label: "To all at once" }, { value: "watched", label: "To all, and watch" }, { value: "staged", label: "In stages" }]} />
        {how !== "all" && <Stages names={names} stages={named} plan={staged} set={setStaged} bad={guards === null} tried={triedFirst(diff)} />}
        {send.error && send.error.status !== 412 && <Refusal error={send.error} />}
        {(forced || force) && how === "all" && (
          <label className="row"><input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} />Force: remove queues although jobs live in them, and cancel overrides that make no sense any more</label>
        )}
        <div className="row wrap policy-actions">
          <Button type="submit" loading={send.isPending} disabled={nothing}>{how !== "staged" ? "Push to all" : `Push to ${named[0]?.sub_clusters.join(", ") || "the first stage"}`}</Button>
          {nothing && <Nothing />}
          <SaveAs name="policy.yaml" text={fileText(draft.text, draft.base.version)} />
          <Command text={pushCommand({ message, stages: how === "all" ? [] : stages, guards: guards ?? {}, onBreach: staged.onBreach, force })} />
        </div>
      </form>
    </Card>
  );
}
