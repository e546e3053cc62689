/** The resources in the order of every vector of amounts, and how people read them. */
import type { Resources } from "../api/types";
import { cores, coresWord, count, memory } from "./units";

export type Axis = keyof Resources;

export interface Resource {
  axis: Axis;
  /** In a sentence. */
  word: string;
  title: string;
  /** An amount, and the same where the word does not stand beside it. */
  number: (n: number) => string;
  said: (n: number) => string;
  /** What it is counted by, and how many of its own units that is. */
  unit: string;
  large: number;
  /** What nodes measure of it; nobody measures the others. */
  measured?: (used: { memory_mib: number; cpu_milli: number }) => number;
  /** Many clusters have none of it: then it is left out. */
  optional?: boolean;
  /** In the form of a job: its label, and what a task has by default. */
  field: string;
  usual: string;
  /** In a policy document: the units an amount may be written in, and such an amount. */
  units: Record<string, number>;
  example: string;
}

export const AXES: readonly Axis[] = ["memory_mib", "vcores_milli", "gpus"];

export const OF: Record<Axis, Resource> = {
  memory_mib: {
    axis: "memory_mib", word: "memory", title: "Memory", number: memory, said: memory, unit: "GiB", large: 1024, measured: (used) => used.memory_mib,
    field: "Memory, MiB", usual: "256", units: { MiB: 1, GiB: 1024, TiB: 1024 ** 2 }, example: "64 GiB",
  },
  vcores_milli: {
    axis: "vcores_milli", word: "cores", title: "Cores", number: cores, said: coresWord, unit: "cores", large: 1000, measured: (used) => used.cpu_milli,
    field: "Cores, thousandths", usual: "1000", units: { cores: 1000, core: 1000, millicores: 1, m: 1 }, example: "32 cores",
  },
  gpus: {
    axis: "gpus", word: "GPUs", title: "GPUs", number: count, said: (n) => `${count(n)} ${n === 1 ? "GPU" : "GPUs"}`, unit: "GPUs", large: 1, optional: true,
    field: "GPUs", usual: "0", units: { gpus: 1, gpu: 1 }, example: "4 gpus",
  },
};
export const RESOURCES: readonly Resource[] = AXES.map((axis) => OF[axis]);

/** Those that the whole has any of, and those that every cluster has. */
export const there = (capacity: Resources) => RESOURCES.filter((r) => !r.optional || capacity[r.axis] > 0);

/** "4 GiB, 3.5 cores, 1 GPU"; GPUs only where there are any. */
export const amounts = (r: Resources) => there(r).map((each) => each.said(r[each.axis])).join(", ");
