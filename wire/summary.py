"""What the RM shows of its sub-cluster: one JSON value in Redis, complete each time. Its nodes' columns lie beside it.

Web reads what RMs of another release wrote while a cluster is updated: a version that is not its own is refused, and
counts as not told.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from wire.resources import Amounts, amounts

VERSION = 1


class SummaryError(ValueError):
    """The bytes are no summary, or one of another version."""


class QueueUse(NamedTuple):
    """What a queue and all below it use. pending: containers that wait in the queue itself."""

    amounts: Amounts
    pending: int


class Observed(NamedTuple):
    """What preemption would take back where it only observes: containers that are marked, and all that were."""

    marked: int
    stopped: int


@dataclass(frozen=True, slots=True)
class Summary:
    """at: s since 1970 by the database's clock. leader: who holds the lease, with ``epoch``.

    live: containers. frozen: nothing is lost or preempted, as most nodes fell silent together. allocated, pending:
    along the axis of resources, the latter of ``pending_containers``. queues: the root, and of the others those that
    use something or where something waits. observed: None unless preemption only observes. rounds, placed, ended,
    rejected (statuses): since the take-over; round_ms: of the last. Rates are None until they are known.
    """

    at: float
    epoch: int
    leader: str
    policy_version: int
    frozen: bool
    live: int
    allocated: Amounts
    used_memory_mib: int
    used_cpu_milli: int
    pending_containers: int
    pending: Amounts
    queues: Mapping[str, QueueUse] = field(default_factory=dict)
    observed: Observed | None = None
    rounds: int = 0
    placed: int = 0
    ended: int = 0
    rejected: int = 0
    round_ms: float = 0.0
    rounds_per_s: float | None = None
    placed_per_s: float | None = None
    ended_per_s: float | None = None


_NAMES = [each.name for each in fields(Summary)]
_WHOLE = {"epoch", "policy_version", "live", "used_memory_mib", "used_cpu_milli", "pending_containers"}
_WHOLE |= {"rounds", "placed", "ended", "rejected"}


def encode(summary: Summary) -> bytes:
    value = {name: getattr(summary, name) for name in _NAMES}
    value["queues"] = {path: [*use.amounts, use.pending] for path, use in summary.queues.items()}
    return json.dumps({"version": VERSION, **value}, separators=(",", ":")).encode()


def decode(data: bytes) -> Summary:
    """Raises ``SummaryError``."""
    try:
        value = json.loads(data)
        if value.pop("version") != VERSION:
            raise SummaryError("another version")
        value["allocated"], value["pending"] = _amounts(value["allocated"]), _amounts(value["pending"])
        value["queues"] = {path: _queue_use(_wholes(use)) for path, use in value["queues"].items()}
        value["observed"] = Observed(*_wholes(value["observed"])) if value["observed"] is not None else None
        _wholes([value[name] for name in _WHOLE])
        _numbers([value["at"], value["round_ms"]])
        return Summary(**value)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise SummaryError(f"no summary: {error}") from None


def _wholes(values: Any) -> list[int]:
    if not all(type(value) is int for value in values):
        raise SummaryError("no whole number where one has to be")
    return list(values)


def _numbers(values: list[Any]) -> None:
    if not all(type(value) in (int, float) for value in values):
        raise SummaryError("no number where one has to be")


def _queue_use(values: list[int]) -> QueueUse:
    *used, pending = values
    return QueueUse(amounts(used), pending)


def _amounts(values: Any) -> Amounts:
    return amounts(_wholes(values))
