"""Traces that were handed in, without their jobs. Only operators and viewers read them."""

from typing import Any

from controlplane.statestore.models import SimulationTrace

Json = dict[str, Any]
_FIELDS = (
    "id", "name", "kind", "added_by__username", "added_at", "jobs", "containers", "users", "span_s", "queues",
    "skipped", "nodes",
)  # fmt: skip


def listed() -> list[Json]:
    """All, newest first: there are never many. One query."""
    return [_info(row) for row in SimulationTrace.objects.order_by("-pk").values(*_FIELDS)]


def one(number: int) -> Json | None:
    """One query."""
    row = SimulationTrace.objects.filter(pk=number).values(*_FIELDS).first() if 0 < number < 2**63 else None
    return None if row is None else _info(row)


def reference(number: int) -> SimulationTrace | None:
    """What a question needs to know of it. One query."""
    found = SimulationTrace.objects.filter(pk=number) if 0 < number < 2**63 else SimulationTrace.objects.none()
    return found.only("pk", "name", "span_s", "nodes").first()


def _info(row: Json) -> Json:
    queues = [{"queue": queue, "jobs": jobs} for queue, jobs in row["queues"].items()]
    return row | {"added_by": row.pop("added_by__username"), "queues": queues}
