"""The policy document: its shape, and putting a version in force.

``queues`` is the tree below ``root``, ``partitions`` are sets of nodes with
capacities of their own, ``components`` are the policies of the RM's parts,
``sub_clusters`` what the RM of a single one does otherwise.
What the fields of a queue mean together is checked by ``policy.meaning``;
``policy.rows`` turns the tree into rows. docs/operators.md is the reference.
"""

import functools
from collections.abc import Collection
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from contract import findings
from contract.fields import Whole
from contract.problems import FieldError
from controlplane.policy import federation, meaning
from controlplane.policy.amounts import Limit
from controlplane.policy.approval import Approval
from controlplane.policy.components import OF_THE_WHOLE, Components
from controlplane.policy.federationparts import TAG, Pair, SubClusterName
from controlplane.policy.ownparts import SubClusterPolicy
from controlplane.policy.parts import Share
from controlplane.policy.queuerules import Backfill
from controlplane.policy.rows import flattened
from controlplane.statestore.actions.errors import Invalid
from controlplane.statestore.actions.policy import QueueRow

MAX_FIELD = 1000


def told(text: str) -> Any:
    """What editors say of a field."""
    return Field(description=text)


QueueName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$", max_length=63)]
PartitionName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
Principal = Annotated[str, StringConstraints(pattern=r"^(role:(operator|tenant|viewer)|[\w.@+-]{1,150})$")]
Jobs = Annotated[Whole, Field(ge=0, le=1_000_000)]
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
        Backfill | None, told("who may start before one that waits in the same leaf; inherited, else the cluster's")
    ] = None
    user_maximum: Annotated[float | None, Field(gt=0, le=1), told("of the queue one user may hold; inherited")] = None
    max_running_jobs: Annotated[Jobs | None, told("jobs in it at a time; more wait")] = None
    max_running_jobs_per_user: Annotated[Jobs | None, told("likewise for one user; inherited")] = None
    max_am_share: Annotated[Share | None, told("of it that application masters may hold; inherited")] = None
    max_priority: Annotated[Priority | None, told("the highest priority a job may have here; inherited")] = None
    default_priority: Annotated[Priority | None, told("of jobs that name none; inherited")] = None
    state: Annotated[Literal["running", "stopped"] | None, told("stopped: takes no jobs; inherited")] = None
    stopped: Annotated[bool | None, Field(json_schema_extra={"deprecated": True})] = None  # an older way to say state
    preemptable: Annotated[bool, told("whether others may take back what it borrowed")] = True
    submit: Annotated[list[Principal], Field(max_length=1000), told("accounts and roles that may submit here")] = []
    administer: Annotated[list[Principal], Field(max_length=1000), told("who may also change others' jobs")] = []
    open_to_all: Annotated[bool | None, told("whether every account may submit here; inherited")] = None
    partitions: Annotated[dict[PartitionName, PartitionCapacity], told("what it may claim of each partition")] = {}
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
    partitions: Annotated[dict[PartitionName, PartitionPolicy], Field(max_length=64)] = {}
    components: Components = Components()
    sub_clusters: Annotated[
        dict[SubClusterName, SubClusterPolicy],
        Field(max_length=1000, description="components of single sub-clusters, over those of the cluster"),
    ] = {}
    approval: Approval = Approval()


DEFAULT: dict[str, Any] = {"queues": {"default": {"guaranteed": 1.0, "open_to_all": True}}}


def parse(document: Any) -> PolicyDocument:
    """The document as typed values. ``Invalid`` names what has the wrong shape."""
    try:
        return PolicyDocument.model_validate(document)
    except (ValidationError, RecursionError) as error:
        raise Invalid("the policy document has errors", _shape(error)) from None


def validate(document: Any, sub_clusters: Collection[str] | None = None) -> tuple[dict[str, Any], list[QueueRow]]:
    """The document with its components complete, and its queues as rows. ``Invalid`` names everything wrong.

    sub_clusters: the names it may use; None: of those in the StateStore.
    """
    parsed = parse(document)
    wrong = [*meaning.check(parsed), *federation.unknown(parsed, sub_clusters)]
    if wrong:
        raise Invalid("the policy document contradicts itself", wrong[: meaning.MAX_ERRORS])
    partitions = {name: p.model_dump() for name, p in parsed.partitions.items()}
    full = document | {
        "partitions": partitions,
        "components": parsed.components.model_dump(),
        "sub_clusters": {name: own.model_dump(exclude_none=True) for name, own in parsed.sub_clusters.items()},
        "approval": parsed.approval.model_dump(),
    }
    return full, flattened(parsed.queues)


@functools.cache
def json_schema() -> dict[str, Any]:
    """JSON Schema of the document: one object for all, to be read only."""
    return PolicyDocument.model_json_schema()


# What is more about documents than about other requests.
REMEDIES = findings.REMEDIES | {
    "extra_forbidden": "remove the field, or check its spelling; fields: {fields}",
    "policy_name": "use one of: {expected}",
    "limit": "{remedy}",
    "recursion_depth_exceeded": "use at most {levels} levels",
}
NAMES = {
    "submit": "name accounts, or roles as role:tenant",
    "administer": "name accounts, or roles as role:tenant",
    "[key]": "name it with lower-case letters, digits, '-' and '_', at most 63 characters; partitions without '_'",
}


def _shape(error: Exception) -> list[FieldError]:
    if not isinstance(error, ValidationError):
        return [FieldError("queues", "is nested too deeply", f"use at most {meaning.MAX_LEVELS} levels")]
    found = error.errors(include_url=False, include_input=False)[: meaning.MAX_ERRORS]
    return [FieldError(_path(e), e["msg"], _remedy(e)) for e in found]


def _path(error: Any) -> str:
    named = [str(part)[:64] for part in error["loc"] if part != "[key]" and not str(part).startswith(TAG)]
    return ".".join(named + ["policy"] * (error["type"] == "policy_name"))[:MAX_FIELD] or "document"


def _remedy(error: Any) -> str:
    if error["type"] == "string_pattern_mismatch":
        return next((NAMES[part] for part in reversed(error["loc"]) if part in NAMES), "use letters, digits and '-'")
    if error["loc"][:1] == ("sub_clusters",) and error["loc"][-1] in OF_THE_WHOLE:
        return f"set components.{error['loc'][-1]}, which is one for all sub-clusters"
    context = {"fields": ", ".join(_fields(error["loc"][:-1])), "levels": meaning.MAX_LEVELS}
    context |= {name: f"{v:g}" if isinstance(v, float) else v for name, v in (error.get("ctx") or {}).items()}
    return REMEDIES.get(error["type"], "see docs/operators.md for the document's shape").format_map(context)


def _fields(loc: tuple[int | str, ...]) -> list[str]:
    """Names of the fields beside the one that is wrong."""
    models: list[Any] = [PolicyDocument]
    for part in loc:
        if str(part).startswith(TAG):  # which of a component's policies it is
            models = [m for m in models if str(part)[len(TAG) :] in get_args(m.model_fields["policy"].annotation)]
        elif field := getattr(models[0], "model_fields", {}).get(part) if models else None:
            models = _models(field.annotation)
        # else it is a name within a mapping
    return list(models[0].model_fields) if models else []


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in getattr(annotation, "__args__", ()) for m in _models(a)]
