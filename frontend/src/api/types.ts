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

/** Whole numbers by resource, or by `containers`. */
export type Amounts = Record<string, number>;

/** One limit that binds; what was asked of it and what it has left stand beside each other. */
export interface WaitLimit {
  limit: string;
  text: string;
  asked: Amounts;
  available: Amounts;
  queue?: string;
  wait_s?: number;
  [more: string]: unknown;
}

/** Why a group waits. `text` is the first limit's; limits stand in the order in which they bind. */
export interface WaitReason {
  code: string;
  text?: string;
  asked?: Partial<Resources>;
  waiting?: number;
  limits?: WaitLimit[];
  position?: { jobs_ahead: number; containers_ahead: number | null } | null;
  estimate?: { earliest_s: number | null; latest_s: number | null; text: string } | null;
  change?: { what: string; text: string; starts?: boolean } | null;
  at?: string | null;
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
  /** What its health script complains of. */
  health_text: string;
  /** What operators want of it. */
  duty: Duty;
  message: string;
  deadline: string | null;
  duty_at: string | null;
  duty_by: string | null;
  /** It was to be emptied, and is. */
  drained: boolean;
  /** The present or next window; active: the node is kept from new work for it. */
  maintenance: { id: number; starts_at: string; ends_at: string; message: string; active: boolean } | null;
}

export type Duty = "in_service" | "cordoned" | "draining" | "decommissioned";

export interface ServiceMove {
  job: number;
  job_name: string;
  owner: string;
  group: string;
  tasks: number[];
  count: number;
  at_once: number;
  resources: Resources;
  fit: number;
}

export interface BatchEnd {
  job: number;
  job_name: string;
  owner: string;
  group: string;
  index: number;
  container: string;
  started_at: string | null;
  ends_at: string | null;
  outcome: "ends" | "stopped" | "unknown";
}

/** What a drain would do. */
export interface DrainPreview {
  node: number;
  name: string;
  deadline: string | null;
  services: ServiceMove[];
  services_fit: boolean;
  batch: BatchEnd[];
  ends: number;
  stopped: number;
  unknown: number;
}

export interface MaintenanceWindow {
  id: number;
  sub_cluster: string;
  node: string;
  rack: string;
  labels: string;
  starts_at: string;
  ends_at: string;
  lead_s: number;
  message: string;
  state: "planned" | "active" | "over" | "cancelled";
  nodes: number;
  created_by: string | null;
}

export interface SubCluster {
  id: number;
  name: string;
  state: string;
  leader: string | null;
  epoch: number;
  lease_ok: boolean;
  nodes: Record<string, number>;
  /** open: take containers. */
  duties?: { open: number; cordoned: number; draining: number };
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
export type NodeBrief = Omit<Node, "labels" | "enforces" | "host" | "version" | "health_text" | "message" | "deadline" | "duty_at" | "duty_by">;

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
