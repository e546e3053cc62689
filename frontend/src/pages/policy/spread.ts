/** Who runs which version, and the rollout under way: live. */
import { get } from "../../api/client";
import type { Page } from "../../api/types";
import { useTopic, type TopicView } from "../../live/hooks";
import type { Convergence, Rollout, Spread } from "./types";

async function read(signal: AbortSignal): Promise<Spread> {
  const [convergence, rollouts] = await Promise.all([
    get<Convergence>("/policy/convergence", signal), get<Page<Rollout>>("/policy/rollouts?page_size=1", signal),
  ]);
  return { convergence, rollout: rollouts.results[0] ?? null };
}

export function useSpread(): TopicView<Spread> {
  return useTopic<Spread>("policy", read);
}
