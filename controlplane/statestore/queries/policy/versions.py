"""Versions of the policy document, and the rights it and the operators grant."""

from typing import Any

from controlplane.accounts.models import QueueAccess
from controlplane.statestore.models import PolicyVersion, Queue, QueueGrant
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

Json = dict[str, Any]
_FIELDS = (
    "id", "parent_id", "active", "author__username", "created_at", "message", "base_id", "overrides",
    "approved_by__username",
)  # fmt: skip
RIGHTS_MAX = 1000


def version(number: int | None = None) -> Json | None:
    """That version, or the one in force, with what operators wrote and what holds; ``None`` without one. One query."""
    if number is not None and not 0 < number < 2**63:
        return None
    found = PolicyVersion.objects.filter(active=True) if number is None else PolicyVersion.objects.filter(pk=number)
    row = found.values(*_FIELDS, "document", "written").first()
    if row is None:
        return None
    document, effective = (row["document"], None) if row["written"] is None else (row["written"], row["document"])
    return _info(row) | {"document": document, "effective": effective}


def list_page(at: Cursor, size: int) -> Page:
    """One page of versions without their documents, newest first. One query."""
    rows = [_info(row) for row in by_number(PolicyVersion.objects.values(*_FIELDS), at, size, newest_first=True)]
    return page(rows, [(row["version"],) for row in rows], size, at)


def _info(row: Json) -> Json:
    return {
        "version": row["id"],
        "parent": row["parent_id"],
        "active": row["active"],
        "author": row["author__username"],
        "at": row["created_at"],
        "message": row["message"],
        "approved_by": row["approved_by__username"],
        "base": row["base_id"] or row["id"],
        "overrides": row["overrides"],
    }


def queue_exists(path: str) -> bool:
    return Queue.objects.filter(version__active=True, path=path).exists()


def rights(path: str) -> list[Json]:
    """Who has rights in a queue, through it or one above it. Two queries."""
    parts = path.split(".")
    above = [".".join(parts[: n + 1]) for n in range(len(parts))]
    granted = QueueAccess.objects.filter(queue__in=above).order_by("queue", "user__username")
    named = QueueGrant.objects.filter(version__active=True, queue__in=above).order_by("queue", "principal")
    rows = [(*row, "grant") for row in granted.values_list("queue", "user__username", "level")[:RIGHTS_MAX]]
    rows += [(*row, "policy") for row in named.values_list("queue", "principal", "level")[:RIGHTS_MAX]]
    return [dict(zip(("queue", "user", "level", "source"), row, strict=True)) for row in rows]
