/** At the head of every part: which version is in force, and whether everything runs it. */
import { Link } from "wouter";
import type { TopicView } from "../../../live/hooks";
import type { Spread } from "../types";
import { behindWord } from "../model/spreading";

export function Converging({ spread }: { spread: TopicView<Spread> }) {
  const found = spread.data?.convergence;
  const rollout = spread.data?.rollout?.live ? spread.data.rollout : null;
  if (!found) return <span className="muted small">{spread.error ? "Who runs which version cannot be read" : ""}</span>;
  return (
    <Link href={rollout ? `/policy/rollouts/${rollout.id}` : "/policy/rollouts"} className="policy-chip" data-good={(found.converged && !rollout) || undefined}>
      <b>Version {found.version}</b>
      <span>{rollout ? `on its way: stage ${rollout.stage + 1} of ${rollout.stages.length}, ${rollout.state.replace("_", " ")}` : found.active ? `in force, ${behindWord(found)}` : behindWord(found)}</span>
    </Link>
  );
}
