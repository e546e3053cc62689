"""The Python SDK and ``hydractl``. Both speak to the cluster over HTTP only.

from client import Client

with Client("http://127.0.0.1:8470", token) as hydra:
    job = hydra.wait(hydra.submit("job.yaml").id)
"""

from client.answers import (
    Artifact,
    Container,
    DrainPreview,
    Event,
    Explanation,
    Group,
    Job,
    JobExplanation,
    LogPiece,
    Maintenance,
    Me,
    Node,
    Output,
    Overview,
    Queue,
    QueueRight,
    SubCluster,
    Task,
)
from client.api import Client
from client.errors import FieldError, HydraError, InvalidJob, Problem, Unreachable
from client.policyanswers import (
    Policy,
    PolicyChange,
    PolicyDiff,
    PolicyOverride,
    PolicyPlan,
    Proposal,
    Pushed,
)

__all__ = [
    "Artifact",
    "Client",
    "Container",
    "DrainPreview",
    "Event",
    "Explanation",
    "FieldError",
    "Group",
    "HydraError",
    "InvalidJob",
    "Job",
    "JobExplanation",
    "LogPiece",
    "Maintenance",
    "Me",
    "Node",
    "Output",
    "Overview",
    "Policy",
    "PolicyChange",
    "PolicyDiff",
    "PolicyOverride",
    "PolicyPlan",
    "Problem",
    "Proposal",
    "Pushed",
    "Queue",
    "QueueRight",
    "SubCluster",
    "Task",
    "Unreachable",
]
