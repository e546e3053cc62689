/** Names for what the API answers. The shapes are made from its OpenAPI schema; units stand last in a name. */
import type { components } from "./schema";

type Shapes = components["schemas"];

export type Resources = Shapes["Amounts"];
export type Me = Shapes["Me"];
export type Role = Me["role"];
export type QueueGrant = Shapes["QueueGrant"];
export type FieldError = Shapes["FieldError"];
export type PolicyChecked = Shapes["PolicyChecked"];

export type Job = Shapes["Job"] & Partial<Pick<Shapes["JobDetail"], "spec" | "tracking" | "revision" | "rollout" | "schedule">> & Partial<Pick<Shapes["JobUpdated"], "unchanged" | "changes" | "warnings">>;
/** What a submit of a job would say, and what would become of it now. */
export type Checked = Shapes["JobChecked"];
export type Outlook = Shapes["Outlook"];
export type Group = Shapes["Group"];
export type Task = Shapes["Task"];
export type Container = Shapes["Container"];
export type ExecBegun = Shapes["ExecBegun"];
export type Revision = Shapes["Revision"];
export type JobEvent = Shapes["Event"];
export type Output = Shapes["Output"];
export type Endpoint = Shapes["Endpoint"];
export type FoundLine = Shapes["FoundLine"];
export type FoundLinePage = Shapes["FoundLinePage"];
export type LogPart = Shapes["LogPart"];
export type MergedLog = Shapes["MergedLog"];

/** Why a group waits. `text` is the first limit's; limits stand in the order in which they bind. */
export type WaitReason = Shapes["WaitReason"];
export type WaitLimit = Shapes["WaitLimit"];

export type Overview = Shapes["Overview"];
export type SubCluster = Shapes["SubCluster"];
export type SubClusterDrainPreview = Shapes["SubClusterDrainPreview"];
export type Comparison = Shapes["Comparison"];
export type Queue = Shapes["Queue"];
export type JobPlace = Shapes["JobPlace"];
export type JobPlaces = Shapes["JobPlaces"];
export type GroupUsage = Shapes["GroupUsage"];
export type JobUsage = Shapes["JobUsage"];
export type Node = Shapes["Node"];
export type NodeContainer = Shapes["NodeContainer"];
export type DrainPreview = Shapes["DrainPreview"];
export type MaintenanceWindow = Shapes["Maintenance"];

export type Account = Shapes["Account"];
export type Token = Shapes["Token"];
export type Secret = Shapes["Secret"];
export type SecretDeleted = Shapes["SecretDeleted"];
export type KeptArtifactPage = Shapes["KeptArtifactPage"];
export type Receiver = Shapes["Receiver"];
export type ReceiverKept = Shapes["ReceiverKept"];
export type JobReceiver = Shapes["JobReceiver"];
export type Notification = Shapes["Notification"];
export type TokenMade = Shapes["NewToken"];
export type JoinTokenLine = Shapes["JoinTokenLine"];
export type Component = Shapes["Component"];

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
