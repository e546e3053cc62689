"""The policy document: its shape, its meaning, and putting a version in force.

``queues`` is the tree below ``root``. ``guaranteed`` and ``maximum`` are
shares of the parent (0 to 1); the guaranteed shares of a queue's children add
up to at most 1. ``components`` names each component's policy with parameters;
it is empty where the defaults serve.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.actions.errors import FieldError, Invalid
from controlplane.statestore.actions.policy import QueueRow
from controlplane.statestore.models import PolicyVersion

QueueName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$", max_length=63)]
Share = Annotated[float, Field(ge=0, le=1)]
ROUNDING = 1e-9  # thirds do not add up exactly


class QueuePolicy(BaseModel):
    """One queue and the queues below it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    guaranteed: Share = 0.0
    maximum: Share = 1.0
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0
    open_to_all: bool = False
    stopped: bool = False
    children: dict[QueueName, "QueuePolicy"] = {}


class ComponentPolicy(BaseModel):
    """A component's policy by name, with its parameters."""

    model_config = ConfigDict(extra="forbid", strict=True)

    policy: Annotated[str, StringConstraints(max_length=63)]
    parameters: dict[str, Any] = {}


class PolicyDocument(BaseModel):
    """How the whole cluster behaves."""

    model_config = ConfigDict(extra="forbid", strict=True)

    queues: dict[QueueName, QueuePolicy]
    components: dict[QueueName, ComponentPolicy] = {}


DEFAULT: dict[str, Any] = {"queues": {"default": {"guaranteed": 1.0, "open_to_all": True}}}


def _walk(path: str, parent: str, queue: QueuePolicy) -> Iterator[tuple[str, str, QueuePolicy]]:
    yield path, parent, queue
    for name, child in queue.children.items():
        yield from _walk(f"{path}.{name}", path, child)


def _meaning(path: str, queue: QueuePolicy) -> Iterator[FieldError]:
    if queue.guaranteed > queue.maximum:
        yield FieldError(path, f"guarantees {queue.guaranteed} and allows {queue.maximum} at most", "raise maximum")
    total = sum(child.guaranteed for child in queue.children.values())
    if total > 1 + ROUNDING:
        yield FieldError(path, f"the guaranteed shares below it add up to {total:g}", "let them add up to 1 at most")
    if len(path) > 255:
        yield FieldError(path[:64], "its path is longer than 255 characters", "use shorter names or fewer levels")


def validate(document: Any) -> tuple[dict[str, Any], list[QueueRow]]:
    """The document with its defaults filled in, and its queues as rows. ``Invalid`` names everything wrong."""
    try:
        parsed = PolicyDocument.model_validate(document)
    except (ValidationError, RecursionError) as error:
        raise Invalid("the policy document has errors", _shape(error)) from None
    root = QueuePolicy(guaranteed=1.0, children=parsed.queues)
    walked = list(_walk("root", "", root))
    wrong = [e for path, _, queue in walked for e in _meaning(path, queue)]
    if not parsed.queues:
        wrong.append(FieldError("queues", "names no queue", "name at least one, such as default"))
    if wrong:
        raise Invalid("the policy document contradicts itself", wrong)
    rows = [
        QueueRow(p, up, q.guaranteed, q.maximum, q.weight, q.open_to_all, q.stopped, not q.children)
        for p, up, q in walked
    ]
    return parsed.model_dump(), rows


def _shape(error: Exception) -> list[FieldError]:
    if not isinstance(error, ValidationError):
        return [FieldError("queues", "is nested too deeply", "use fewer levels")]
    return [
        FieldError(".".join(map(str, e["loc"])), e["msg"], "see docs/operators.md for the document's shape")
        for e in error.errors(include_url=False, include_input=False)[:50]
    ]


def publish(actor: Actor, document: Any, message: str) -> PolicyVersion:
    """Validate the document and put it in force as a new version."""
    valid, rows = validate(document)
    return actions.publish(actor, valid, rows, message)
