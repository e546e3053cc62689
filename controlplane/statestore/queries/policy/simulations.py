"""What-if simulations as lists and one by one. Only operators read them."""

import gzip
from typing import Any

from django.db.models import Q

from controlplane.statestore.models import Simulation
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

Json = dict[str, Any]
_FIELDS = (
    "id", "kind", "state", "message", "progress", "simulated_s", "requested_by__username", "requested_at",
    "begins_at", "ends_at", "base_id", "version_id", "digest", "change", "sub_cluster__name", "forecast", "seeds",
    "sample", "started_at", "ended_at", "trace_id", "trace_name", "own_nodes",
    "deadline_s",
)  # fmt: skip
_DETAILS = ("document", "queues", "result")


def listed(at: Cursor, size: int, version: tuple[int, str | None] | None = None) -> Page:
    """One page without results, newest first. version: only of that one, by its number and its digest. One query."""
    found = Simulation.objects.all()
    if version is not None:
        number, digest = version
        same = Q(digest=digest) if digest else Q(version=number)
        found = found.filter(same | Q(version=number), kind=Simulation.Kind.POLICY)
    rows = [_info(row) for row in by_number(found.values(*_FIELDS), at, size, newest_first=True)]
    return page(rows, [(row["id"],) for row in rows], size, at)


def one(number: int) -> Json | None:
    """With its document, its queues and its result. One query."""
    if not 0 < number < 2**63:
        return None
    row = Simulation.objects.filter(pk=number).values(*_FIELDS, *_DETAILS).first()
    return None if row is None else _info(row) | {name: row[name] for name in _DETAILS}


def report(number: int) -> tuple[str, bytes | None] | None:
    """(state, the page); None where there is no such simulation. One query."""
    if not 0 < number < 2**63:
        return None
    row = Simulation.objects.filter(pk=number).only("state", "page").first()
    return None if row is None else (row.state, gzip.decompress(row.page) if row.page else None)


def _info(row: Json) -> Json:
    return {
        "id": row["id"], "kind": row["kind"], "state": row["state"], "message": row["message"],
        "progress": row["progress"], "simulated_s": row["simulated_s"], "requested_by": row["requested_by__username"],
        "requested_at": row["requested_at"], "from": row["begins_at"], "to": row["ends_at"], "base": row["base_id"],
        "version": row["version_id"], "digest": row["digest"], "change": row["change"],
        "sub_cluster": row["sub_cluster__name"], "forecast": row["forecast"], "seeds": row["seeds"],
        "sample": row["sample"], "started_at": row["started_at"], "ended_at": row["ended_at"],
        "trace": row["trace_id"], "trace_name": row["trace_name"], "own_nodes": row["own_nodes"],
        "deadline_s": row["deadline_s"],
    }  # fmt: skip
