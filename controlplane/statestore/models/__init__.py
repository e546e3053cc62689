"""What the StateStore holds, one module per aggregate. Each docstring names the row's writer."""

from .admission import AdmissionCount, AdmissionHead, AdmissionLedger
from .artifacts import Artifact, ArtifactOwner, LogChunk, TaskOutput
from .audit import AuditEntry, IdempotencyKey, UsageHour, UsageTag
from .containers import Container, ContainerHistory, Round
from .endpoints import Endpoint
from .execs import Exec
from .federation import JoinToken, Lease, MaintenanceWindow, Node, NodeCredential, SubCluster, SubClusterToken
from .jobs import Ask, Intent, Job, JobEvent, Report, Task, TaskGroup
from .masters import Master, MasterAsk, MasterEvent, MasterLaunch
from .notifications import Notification, Receiver
from .policychanges import PolicyOverride, PolicyProposal
from .queues import PolicyVersion, Queue, QueueGrant
from .rollouts import Acknowledgement, Rollout
from .savedviews import SavedView
from .schedules import Schedule, ScheduleRun
from .secrets import Secret
from .shares import DutyLease, LoadRow, ShareAssignment, Starvation
from .simulations import Simulation, SimulationTrace

__all__ = [
    "Acknowledgement",
    "AdmissionCount",
    "AdmissionHead",
    "AdmissionLedger",
    "Artifact",
    "ArtifactOwner",
    "Ask",
    "AuditEntry",
    "Container",
    "ContainerHistory",
    "DutyLease",
    "Endpoint",
    "Exec",
    "IdempotencyKey",
    "Intent",
    "Job",
    "JobEvent",
    "JoinToken",
    "Lease",
    "LoadRow",
    "LogChunk",
    "MaintenanceWindow",
    "Master",
    "MasterAsk",
    "MasterEvent",
    "MasterLaunch",
    "Node",
    "NodeCredential",
    "Notification",
    "PolicyOverride",
    "PolicyProposal",
    "PolicyVersion",
    "Queue",
    "QueueGrant",
    "Receiver",
    "Report",
    "Rollout",
    "Round",
    "SavedView",
    "Schedule",
    "ScheduleRun",
    "Secret",
    "ShareAssignment",
    "Simulation",
    "SimulationTrace",
    "Starvation",
    "SubCluster",
    "SubClusterToken",
    "Task",
    "TaskGroup",
    "TaskOutput",
    "UsageHour",
    "UsageTag",
]
