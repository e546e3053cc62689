/** The axis of resources. */
import type { Resources } from "../../../api/types";
import { AXES } from "../../../format/resources";
import { cores, count, memory } from "../../../format/units";

export type ResourceName = keyof Resources;
export const RESOURCES = AXES;
export const WORDS: Record<ResourceName, string> = { memory_mib: "memory", vcores_milli: "cores", gpus: "GPUs" };

export function amountWord(resource: ResourceName, amount: number): string {
  if (resource === "memory_mib") return memory(amount);
  return resource === "vcores_milli" ? cores(amount) : count(amount);
}

/** "4 GiB, 3.5 cores and 1 GPU" without what is zero; "nothing". */
export function allWord(amounts: Resources): string {
  const parts = RESOURCES.filter((r) => amounts[r]).map((r) => (r === "memory_mib" ? memory(amounts[r]) : `${amountWord(r, amounts[r])} ${WORDS[r]}`));
  return parts.join(", ") || "nothing";
}
