"""The Python SDK and ``hydractl``. Both speak to the cluster over HTTP only.

from client import Client

with Client("http://127.0.0.1:8470", token) as hydra:
    job = hydra.wait(hydra.submit("job.yaml").id)
"""

from client.api import Client
from client.conversion import convert
from client.copying import Copied
from client.errors import HydraError, InvalidJob, Unreachable
from client.imports import Converted
from client.policycalls import Pushed
from contract.accounts import Me
from contract.jobs import (
    Artifact,
    Container,
    Event,
    Group,
    Job,
    JobChecked,
    JobSubmitted,
    LogPart,
    LogPiece,
    Output,
    Task,
)
from contract.jobusage import GroupUsage, JobUsage
from contract.nodes import DrainPreview, Maintenance, Node
from contract.plans import PolicyPlan
from contract.policies import Policy, PolicyChange, PolicyDiff, PolicyOverride, Proposal
from contract.problems import FieldError, Problem
from contract.queues import Queue, QueueRight
from contract.subclusters import Overview, SubCluster
from contract.waiting import GroupExplanation, JobExplanation

VERSION = "0.1.0"

__all__ = [
    "VERSION",
    "Artifact",
    "Client",
    "Container",
    "Converted",
    "Copied",
    "DrainPreview",
    "Event",
    "FieldError",
    "Group",
    "GroupExplanation",
    "GroupUsage",
    "HydraError",
    "InvalidJob",
    "Job",
    "JobChecked",
    "JobExplanation",
    "JobSubmitted",
    "JobUsage",
    "LogPart",
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
    "convert",
]
