"""The policy document: its shape, and putting a version in force.

``queues`` is the tree below ``root``, ``partitions`` are sets of nodes with
capacities of their own, ``components`` are the policies of the RM's parts.
What the fields of a queue mean together is checked by ``policy.meaning``;
``policy.rows`` turns the tree into rows. docs/operators.md is the reference.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from controlplane.policy import meaning
from controlplane.policy.amounts import Limit
from controlplane.policy.components import Components
from controlplane.policy.rows import flattened
from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.actions.errors import FieldError, Invalid
from controlplane.statestore.actions.policy import QueueRow
from controlplane.statestore.models import PolicyVersion

MAX_FIELD = 1000


def _whole(value: Any) -> Any:
    """JSON makes no difference between 5 and 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


QueueName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$", max_length=63)]
PartitionName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
Principal = Annotated[str, StringConstraints(pattern=r"^(role:(operator|tenant|viewer)|[\w.@+-]{1,150})$")]
Share = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, BeforeValidator(_whole)]
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

    guaranteed: Limit | None = None
    maximum: Limit | None = None
    weight: Annotated[float, Field(gt=0, le=1000)] | None = None
    ordering: Literal["fifo", "fair", "priority"] | None = None
    user_maximum: Annotated[float, Field(gt=0, le=1)] | None = None
    max_running_jobs: Jobs | None = None
    max_running_jobs_per_user: Jobs | None = None
    max_am_share: Share | None = None
    max_priority: Priority | None = None
    default_priority: Priority | None = None
    state: Literal["running", "stopped"] | None = None
    stopped: Annotated[bool | None, Field(json_schema_extra={"deprecated": True})] = None  # an older way to say state
    preemptable: bool = True
    submit: Annotated[list[Principal], Field(max_length=1000)] = []
    administer: Annotated[list[Principal], Field(max_length=1000)] = []
    open_to_all: bool | None = None
    partitions: dict[PartitionName, PartitionCapacity] = {}
    default_partition: Annotated[str, StringConstraints(max_length=63)] | None = None
    children: dict[QueueName, "QueuePolicy"] = {}


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


DEFAULT: dict[str, Any] = {"queues": {"default": {"guaranteed": 1.0, "open_to_all": True}}}


def validate(document: Any) -> tuple[dict[str, Any], list[QueueRow]]:
    """The document with its components complete, and its queues as rows. ``Invalid`` names everything wrong."""
    try:
        parsed = PolicyDocument.model_validate(document)
    except (ValidationError, RecursionError) as error:
        raise Invalid("the policy document has errors", _shape(error)) from None
    wrong = list(meaning.check(parsed))
    if wrong:
        raise Invalid("the policy document contradicts itself", wrong[: meaning.MAX_ERRORS])
    partitions = {name: p.model_dump() for name, p in parsed.partitions.items()}
    components = parsed.components.model_dump()
    return document | {"partitions": partitions, "components": components}, flattened(parsed.queues)


def json_schema() -> dict[str, Any]:
    """JSON Schema of the document."""
    return PolicyDocument.model_json_schema()


def publish(
    actor: Actor, document: Any, message: str, *, parent: int | None = None, force: bool = False
) -> PolicyVersion:
    """Validate the document and put it in force as a new version.

    ``parent``: the version it was made from; ``Stale`` when another one is in
    force by now. ``force``: remove queues although jobs live in them.
    """
    valid, rows = validate(document)
    return actions.publish(actor, valid, rows, message, parent=parent, force=force)


REMEDIES = {
    "extra_forbidden": "remove the field, or check its spelling; fields: {fields}",
    "missing": "add the field",
    "literal_error": "use {expected}",
    "greater_than_equal": "use {ge} or more",
    "less_than_equal": "use {le} or less",
    "greater_than": "use more than {gt}",
    "bool_type": "give true or false",
    "float_type": "give a number without quotes",
    "int_type": "give a whole number without quotes",
    "int_from_float": "give a whole number",
    "list_type": "give a list",
    "dict_type": "give a mapping of names to values",
    "model_type": "give a mapping of fields",
    "string_type": "give a text",
    "string_too_long": "use at most {max_length} characters",
    "too_long": "give at most {max_length}",
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
    return [FieldError(_path(e["loc"]), e["msg"], _remedy(e)) for e in found]


def _path(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part)[:64] for part in loc if part != "[key]")[:MAX_FIELD] or "document"


def _remedy(error: Any) -> str:
    if error["type"] == "string_pattern_mismatch":
        return next((NAMES[part] for part in reversed(error["loc"]) if part in NAMES), "use letters, digits and '-'")
    context = {"fields": ", ".join(_fields(error["loc"][:-1])), "levels": meaning.MAX_LEVELS}
    context |= {name: f"{v:g}" if isinstance(v, float) else v for name, v in (error.get("ctx") or {}).items()}
    return REMEDIES.get(error["type"], "see docs/operators.md for the document's shape").format_map(context)


def _fields(loc: tuple[int | str, ...]) -> list[str]:
    """Names of the fields beside the one that is wrong."""
    model: Any = PolicyDocument
    for part in loc:
        field = getattr(model, "model_fields", {}).get(part)
        if field is None:
            continue  # a name within a mapping
        model = next((m for m in _models(field.annotation)), None)
    return list(getattr(model, "model_fields", {}))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in getattr(annotation, "__args__", ()) for m in _models(a)]
