/** What the API answers. Units stand last in a name; resources are whole numbers. */

export interface Resources {
  memory_mib: number;
  vcores_milli: number;
  gpus: number;
}

export interface QueueGrant {
  path: string;
  level: "submit" | "admin";
}

export interface Me {
  id: number;
  username: string;
  role: "operator" | "tenant" | "viewer";
  queues: QueueGrant[];
}

export type JobState = "SUBMITTED" | "ADMITTED" | "RUNNING" | "KILLING" | "SUCCEEDED" | "FAILED" | "KILLED";
export type GroupState = "WAITING" | "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "KILLED";
export type TaskState = "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "KILLED";
export type NodeState = "REGISTERED" | "UP" | "UNHEALTHY" | "LOST" | "DECOMMISSIONED";

/** Why a group waits. `text` is a sentence; the numbers stand beside it where the code has some. */
export interface WaitReason {
  code: string;
  text?: string;
  asked?: Partial<Resources>;
  largest_free?: Partial<Resources>;
  waiting?: number;
  [more: string]: unknown;
}

export interface Group {
  no: number;
  name: string;
  count: number;
  state: GroupState;
  pending: number;
  running: number;
  succeeded: number;
  failed: number;
  killed: number;
  retried: number;
  resources: Resources;
  after: string[];
  reason: WaitReason | null;
  started_at: string | null;
  finished_at: string | null;
}

export interface Job {
  id: number;
  name: string;
  kind: "batch" | "service";
  queue: string;
  owner: string;
  priority: number;
  tags: string[];
  state: JobState;
  message: string;
  home: string;
  submitted_at: string;
  admitted_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  retry_of: number | null;
  groups: Group[];
  waiting: string | null;
  spec?: Record<string, unknown>;
}

export interface Task {
  group: string;
  index: number;
  state: TaskState;
  attempts: number;
  container: string | null;
  node: string | null;
  exit_code: number | null;
  started_at: string | null;
  finished_at: string | null;
}

export interface Container {
  id: string;
  job: number;
  group: string;
  index: number;
  attempt: number;
  node: string | null;
  sub_cluster: string;
  state: string;
  reason: string | null;
  exit_code: number | null;
  allocated_at: string;
  started_at: string | null;
  finished_at: string | null;
  memory_mib: number;
  vcores_milli: number;
  gpus: number[];
  peak_memory_mib: number | null;
  cpu_ms: number | null;
}

export interface JobEvent {
  at: string;
  kind: string;
  message: string;
}

export interface Output {
  group: string;
  index: number;
  name: string;
  path: string;
  digest: string;
  size: number;
}

export interface Node {
  id: number;
  name: string;
  sub_cluster: string;
  rack: string;
  state: NodeState;
  health: string[];
  labels: Record<string, string>;
  capacity: Resources;
  allocated: Resources;
  used: { memory_mib: number; cpu_milli: number };
  containers: number;
  /** Seconds since its last report; null when it never reported. */
  last_seen_s: number | null;
  enforces: string[];
  host: string;
  version: string;
}

export interface SubCluster {
  id: number;
  name: string;
  state: string;
  leader: string | null;
  epoch: number;
  lease_ok: boolean;
  nodes: Record<string, number>;
  capacity: Resources;
  allocated: Resources;
  used: { memory_mib: number; cpu_milli: number };
  pending: Resources & { containers: number };
  live_containers: number;
  rounds_per_s?: number | null;
  placed_per_s?: number | null;
  round_ms?: number | null;
  policy_version: number | null;
  frozen?: boolean;
  /** Seconds since the RM wrote what is shown here; null when it has written nothing. */
  summary_age_s?: number | null;
}

export interface Queue {
  path: string;
  leaf: boolean;
  /** Draining: takes no new jobs, and some still live in it. */
  state: "running" | "draining" | "stopped";
  /** Units of the whole federation. */
  guaranteed: Resources;
  maximum: Resources;
  live_jobs: number;
  used: Resources & { containers: number };
  pending: number;
}

export interface Overview {
  /** Unix time of the reading. */
  at: number;
  policy_version: number | null;
  sub_clusters: SubCluster[];
  nodes: Record<string, number>;
  capacity: Resources;
  allocated: Resources;
  used: { memory_mib: number; cpu_milli: number };
  pending: Resources & { containers: number };
  live_containers: number;
  jobs: Record<string, number>;
  queues: Queue[];
}

/** What the map shows of a node; the rest is read for one node at a time. */
export type NodeBrief = Omit<Node, "labels" | "enforces" | "host" | "version">;

export interface NodesSnapshot {
  results: NodeBrief[];
  /** False when there are more nodes than one snapshot carries. */
  complete: boolean;
}

export interface Page<T> {
  results: T[];
  next: string | null;
  previous: string | null;
}

export interface LogPiece {
  data: string;
  offset: number;
  next_offset: number;
  skipped: number;
  complete: boolean;
}

export interface JobSnapshot {
  job: Job;
  tasks: Page<Task>;
}

export interface FieldError {
  field: string;
  message: string;
  remedy?: string;
}
