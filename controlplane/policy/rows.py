"""The queue tree flattened into rows, with what is inherited written out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from controlplane.policy.amounts import capacity
from controlplane.statestore.actions.policy import QueueRow
from controlplane.statestore.capacities import DEFAULT

if TYPE_CHECKING:
    from contract.policy.document import QueuePolicy

PRIORITY_MAX = 499


@dataclass(frozen=True, slots=True)
class _Inherited:
    """What a queue takes from the nearest queue above it that sets it."""

    ordering: str = "priority"
    user_maximum: float = 1.0
    max_running_jobs_per_user: int | None = None
    max_live_jobs_per_user: int | None = None
    max_live_tasks_per_user: int | None = None
    max_live_mib_per_user: int | None = None
    max_am_share: float = 1.0
    max_priority: int = PRIORITY_MAX
    default_priority: int = 0
    open_to_all: bool = False
    default_partition: str = DEFAULT
    state: str = "running"
    preemptable: bool = True


_FROM_NEAREST = (
    "ordering", "user_maximum", "max_running_jobs_per_user", "max_live_jobs_per_user", "max_live_tasks_per_user",
    "max_live_mib_per_user", "max_am_share", "max_priority", "default_priority", "open_to_all", "default_partition",
)  # fmt: skip
INHERITED = (*_FROM_NEAREST, "state", "preemptable")  # columns that a queue may have from one above it


def flattened(queues: Mapping[str, "QueuePolicy"]) -> list[QueueRow]:
    """Root and every queue below it, parents first."""
    start = _Inherited()
    rows = [_row("root", "", None, start, leaf=False)]
    todo = [("root", name, queue, start) for name, queue in queues.items()]
    for up, name, queue, above in todo:
        path, effective = f"{up}.{name}", _effective(queue, above)
        rows.append(_row(path, up, queue, effective, leaf=not queue.children))
        todo += [(path, below, child, effective) for below, child in queue.children.items()]
    return rows


def _effective(queue: "QueuePolicy", above: _Inherited) -> _Inherited:
    given = {name: value for name in _FROM_NEAREST if (value := getattr(queue, name)) is not None}
    if queue.state == "stopped" or queue.stopped:
        given["state"] = "stopped"
    if above.preemptable and not queue.preemptable:
        given["preemptable"] = False
    if not given:
        return above
    found = replace(above, **given)
    # A ceiling below what is usual above it lowers what is usual.
    return replace(found, default_priority=min(found.default_priority, found.max_priority))


def _row(path: str, up: str, queue: "QueuePolicy | None", effective: _Inherited, leaf: bool) -> QueueRow:
    capacities: dict[str, Any] = {DEFAULT: capacity(*(queue.guaranteed, queue.maximum) if queue else (None, None))}
    for name, limits in queue.partitions.items() if queue else ():
        capacities[name] = capacity(limits.guaranteed, limits.maximum)
    return QueueRow(
        path=path,
        parent_path=up,
        leaf=leaf,
        capacities=capacities,
        weight=queue.weight if queue else None,
        max_running_jobs=queue.max_running_jobs if queue else None,
        submit=tuple(queue.submit) if queue else (),
        administer=tuple(queue.administer) if queue else (),
        **{name: getattr(effective, name) for name in INHERITED},
    )
