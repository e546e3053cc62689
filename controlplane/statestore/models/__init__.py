"""What the StateStore holds, one module per aggregate. Each docstring names the row's writer."""

from .admission import AdmissionCount, AdmissionHead, AdmissionLedger
from .artifacts import Artifact, ArtifactOwner, LogChunk, TaskOutput
from .audit import AuditEntry, IdempotencyKey, UsageHour
from .containers import Container, ContainerHistory, Round
from .federation import JoinToken, Lease, MaintenanceWindow, Node, NodeCredential, SubCluster
from .jobs import Ask, Intent, Job, JobEvent, Task, TaskGroup
from .queues import PolicyVersion, Queue, QueueGrant

__all__ = [
    "AdmissionCount",
    "AdmissionHead",
    "AdmissionLedger",
    "Artifact",
    "ArtifactOwner",
    "Ask",
    "AuditEntry",
    "Container",
    "ContainerHistory",
    "IdempotencyKey",
    "Intent",
    "Job",
    "JobEvent",
    "JoinToken",
    "Lease",
    "LogChunk",
    "MaintenanceWindow",
    "Node",
    "NodeCredential",
    "PolicyVersion",
    "Queue",
    "QueueGrant",
    "Round",
    "SubCluster",
    "Task",
    "TaskGroup",
    "TaskOutput",
    "UsageHour",
]
