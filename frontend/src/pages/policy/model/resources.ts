/** The axis of resources. */
import type { Resources } from "../../../api/types";
import { AXES, OF } from "../../../format/resources";

export type ResourceName = keyof Resources;
export const RESOURCES = AXES;

export function amountWord(resource: ResourceName, amount: number): string {
  return OF[resource].number(amount);
}

/** "4 GiB, 3.5 cores and 1 GPU" without what is zero; "nothing". */
export function allWord(amounts: Resources): string {
  const parts = RESOURCES.filter((r) => amounts[r]).map((r) => (r === "memory_mib" ? amountWord(r, amounts[r]) : `${amountWord(r, amounts[r])} ${OF[r].word}`));
  return parts.join(", ") || "nothing";
}
