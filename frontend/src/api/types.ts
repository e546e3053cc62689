/** Names for what the API answers. The shapes are made from its OpenAPI schema; units stand last in a name. */
import type { components } from "./schema";

type Shapes = components["schemas"];

export type Resources = Shapes["Amounts"];
export type Me = Shapes["Me"];
export type Role = Me["role"];
export type QueueGrant = Shapes["QueueRight"];
export type FieldError = Shapes["FieldProblem"];

export type Job = Shapes["JobInfo"] & Partial<Pick<Shapes["JobDetail"], "spec">>;
export type Group = Shapes["GroupInfo"];
export type Task = Shapes["TaskInfo"];
export type Container = Shapes["ContainerInfo"];
export type JobEvent = Shapes["EventInfo"];
export type Output = Shapes["OutputInfo"];
export type Endpoint = Shapes["EndpointInfo"];
export type LogPiece = Shapes["LogPart"];

/** Why a group waits. `text` is the first limit's; limits stand in the order in which they bind. */
export type WaitReason = Shapes["WaitReason"];
export type WaitLimit = Shapes["WaitLimit"];

export type Overview = Shapes["Overview"];
export type SubCluster = Shapes["SubClusterInfo"];
export type SubClusterDrainPreview = Shapes["SubClusterDrainPreview"];
export type Queue = Shapes["QueueInfo"];
export type Node = Shapes["NodeInfo"];
export type NodeContainer = Shapes["NodeContainer"];
export type DrainPreview = Shapes["DrainPreview"];
export type MaintenanceWindow = Shapes["MaintenanceInfo"];

export type Account = Shapes["AccountInfo"];
export type Token = Shapes["TokenInfo"];
export type TokenMade = Shapes["TokenMade"];
export type JoinTokenLine = Shapes["JoinTokenLine"];
export type Component = Shapes["ComponentInfo"];

/** One page of any list. */
export interface Page<T> {
  results: T[];
  next: string | null;
  previous: string | null;
}

// What only the socket sends.

export interface JobSnapshot {
  job: Job;
  tasks: Page<Task>;
  endpoints?: Page<Endpoint>;
}
