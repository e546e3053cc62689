"""The policy document's shape.

``queues`` is the tree below ``root``, ``partitions`` are sets of nodes with
capacities of their own, ``components`` are the policies of the RM's parts,
``sub_clusters`` what the RM of a single one does otherwise.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from contract.atmost import AtMost
from contract.fields import Whole
from contract.policy.approval import Approval
from contract.policy.components import Components
from contract.policy.federation import Pair, SubClusterName
from contract.policy.limits import Limit
from contract.policy.parts import BackfillName, Share
from contract.policy.subclusters import SubClusterPolicy


def told(text: str) -> Any:
    """What editors say of a field."""
    return Field(description=text)


PARTITIONS_MAX = 64
QueueName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$", max_length=63)]
PartitionName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
Principal = Annotated[str, StringConstraints(pattern=r"^(role:(operator|tenant|viewer)|[\w.@+-]{1,150})$")]
Jobs = Annotated[Whole, Field(ge=0, le=1_000_000)]
Tasks = Annotated[Whole, Field(ge=1, le=2**53)]  # what JavaScript counts exactly
Priority = Annotated[Whole, Field(ge=-500, le=499)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PartitionCapacity(Strict):
    """What a queue may claim of one partition."""

    guaranteed: Limit | None = None
    maximum: Limit | None = None


class QueuePolicy(Strict):
    """One queue and the queues below it. A field that is null, or left out, is inherited or has its default."""

    guaranteed: Annotated[Limit | None, told("what it gets whenever it wants it: of the queue above, or amounts")] = (
        None
    )
    maximum: Annotated[
        Limit | None, told("what it may use when others leave it; without it all of the queue above")
    ] = None
    weight: Annotated[float | None, Field(gt=0, le=1000), told("its part of what is left, beside its siblings")] = None
    ordering: Annotated[Literal["fifo", "fair", "priority"] | None, told("whose job is served first; inherited")] = None
    backfill: Annotated[
        BackfillName | None, told("who may start before one that waits in the same leaf; inherited, else the cluster's")
    ] = None
    user_maximum: Annotated[float | None, Field(gt=0, le=1), told("of the queue one user may hold; inherited")] = None
    max_running_jobs: Annotated[Jobs | None, told("jobs in it at a time; more wait")] = None
    max_running_jobs_per_user: Annotated[Jobs | None, told("likewise for one user; inherited")] = None
    max_live_jobs_per_user: Annotated[
        Jobs | None, told("jobs of one user that have not ended; more are refused; inherited")
    ] = None
    max_live_tasks_per_user: Annotated[
        Tasks | None, told("tasks of these jobs together; more are refused; inherited")
    ] = None
    max_live_mib_per_user: Annotated[
        Whole | None, Field(ge=1, le=1_000_000), told("MiB that these jobs say together; more is refused; inherited")
    ] = None
    max_am_share: Annotated[Share | None, told("of it that application masters may hold; inherited")] = None
    max_priority: Annotated[Priority | None, told("the highest priority a job may have here; inherited")] = None
    default_priority: Annotated[Priority | None, told("of jobs that name none; inherited")] = None
    state: Annotated[Literal["running", "stopped"] | None, told("stopped: takes no jobs; inherited")] = None
    stopped: Annotated[bool | None, Field(json_schema_extra={"deprecated": True})] = None  # an older way to say state
    preemptable: Annotated[bool, told("whether others may take back what it borrowed")] = True
    submit: Annotated[list[Principal], AtMost(1000), told("accounts and roles that may submit here")] = []
    administer: Annotated[list[Principal], AtMost(1000), told("who may also change others' jobs")] = []
    open_to_all: Annotated[bool | None, told("whether every account may submit here; inherited")] = None
    partitions: Annotated[
        dict[PartitionName, PartitionCapacity], AtMost(PARTITIONS_MAX), told("what it may claim of each partition")
    ] = {}
    default_partition: Annotated[
        str | None, StringConstraints(max_length=63), told("of jobs that name none; inherited")
    ] = None
    federation: Annotated[Pair | None, told("routing and proxy of its jobs; inherited, else the cluster's")] = None
    children: Annotated[dict[QueueName, "QueuePolicy"], told("the queues below it")] = {}


class PartitionPolicy(Strict):
    """Nodes chosen by a label expression. A node belongs to the first that matches, by ``rank``, then by name."""

    nodes: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    exclusive: bool = True
    rank: Annotated[Whole, Field(ge=-1000, le=1000)] = 0


class PolicyDocument(Strict):
    """How the whole cluster behaves."""

    queues: dict[QueueName, QueuePolicy]
    partitions: Annotated[dict[PartitionName, PartitionPolicy], AtMost(PARTITIONS_MAX)] = {}
    components: Components = Components()
    sub_clusters: Annotated[
        dict[SubClusterName, SubClusterPolicy],
        AtMost(1000),
        Field(description="components of single sub-clusters, over those of the cluster"),
    ] = {}
    approval: Approval = Approval()
