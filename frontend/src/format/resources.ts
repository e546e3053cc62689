/** The resources in the order of every vector of amounts. */
import type { Resources } from "../api/types";

export const AXES: readonly (keyof Resources)[] = ["memory_mib", "vcores_milli", "gpus"];
