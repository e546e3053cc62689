"""What a queue's field says to all below it, read from a stored document."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from contract.policy.parts import BackfillName

T = TypeVar("T")


def stored_queues(queues: Mapping[str, Any] | None) -> list[tuple[str, Mapping[str, Any]]]:
    """Path and fields of each queue of a stored document, parents before children."""
    found = [(f"root.{name}", queue) for name, queue in (queues or {}).items()]
    for path, queue in found:
        found += [(f"{path}.{name}", child) for name, child in (queue.get("children") or {}).items()]
    return found


def nearest_own(own: Mapping[str, T], usual: T) -> Callable[[str], T]:
    """Of a queue's path: what it says itself, or the nearest queue above that says something, or the usual."""

    def of(path: str) -> T:
        while own and path:
            if path in own:
                return own[path]
            path = path.rpartition(".")[0]
        return usual

    return of


def backfill_rules(queues: Mapping[str, Any] | None, usual: BackfillName) -> Callable[[str], BackfillName]:
    """By which rule the asks of a queue's leaves backfill."""
    known: dict[Any, BackfillName] = {
        rule: rule for rule in get_args(BackfillName)
    }  # stored: also null, or of another release
    said = ((path, known.get(queue.get("backfill"))) for path, queue in stored_queues(queues))
    return nearest_own({path: rule for path, rule in said if rule is not None}, usual)
