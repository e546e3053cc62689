"""What a queue's field says to all below it, read from a stored document: how the asks of its leaves backfill."""

from collections.abc import Callable, Mapping
from typing import Any

from contract.policy.parts import BackfillName
from scheduler.registry import BACKFILL


def backfill_rules(queues: Mapping[str, Any] | None, usual: BackfillName) -> Callable[[str], BackfillName]:
    """The rule of a queue's path: its own, or that of the nearest queue above that has one, or the usual one."""
    found: dict[str, BackfillName] = {}
    todo = [(f"root.{name}", queue, usual) for name, queue in (queues or {}).items()]
    for path, queue, above in todo:
        rule = queue.get("backfill")
        rule = rule if rule in BACKFILL else above  # null, or of another release
        if rule != above:
            found[path] = rule
        todo += [(f"{path}.{name}", child, rule) for name, child in (queue.get("children") or {}).items()]

    def of(path: str) -> BackfillName:
        while found and path:
            if path in found:
                return found[path]
            path = path.rpartition(".")[0]
        return usual

    return of
