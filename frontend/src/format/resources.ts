/** The resources in the order of every vector of amounts. */
import type { Resources } from "../api/types";
import { coresWord, count, memory } from "./units";

export const AXES: readonly (keyof Resources)[] = ["memory_mib", "vcores_milli", "gpus"];

/** "4 GiB, 3.5 cores, 1 GPUs"; GPUs only where there are any. */
export const amounts = (r: Resources) => [memory(r.memory_mib), coresWord(r.vcores_milli), ...(r.gpus ? [`${count(r.gpus)} GPUs`] : [])].join(", ");
