"""Rollouts of policy versions, as people see them."""

from typing import Any

from controlplane.statestore.models import Rollout
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

from . import convergence

Json = dict[str, Any]
_FIELDS = (
    "id", "version_id", "from_version_id", "rollback_version_id", "state", "live", "stages", "guards", "on_breach",
    "stage", "baseline", "metrics", "message", "author__username", "created_at", "stage_at", "soak_at", "ended_at",
)  # fmt: skip


def overview() -> Json:
    """How far the version last pushed has spread, and the rollout under way or else the last one. Six queries."""
    last = Rollout.objects.order_by("-live", "-id").values(*_FIELDS).first()
    return {"convergence": convergence.read(), "rollout": _info(last) if last else None}


def detail(number: int) -> Json | None:
    """One rollout, or ``None``. One query."""
    row = Rollout.objects.filter(pk=number).values(*_FIELDS).first() if 0 < number < 2**63 else None
    return _info(row) if row else None


def list_page(at: Cursor, size: int) -> Page:
    """One page, newest first. One query."""
    rows = [_info(row) for row in by_number(Rollout.objects.values(*_FIELDS), at, size, newest_first=True)]
    return page(rows, [(row["id"],) for row in rows], size, at)


def _info(row: Json) -> Json:
    renamed = {"version_id": "version", "from_version_id": "from_version", "rollback_version_id": "rollback_version"}
    renamed["author__username"] = "author"
    told = [{"everywhere": False} | stage for stage in row["stages"]]
    return {renamed.get(name, name): value for name, value in row.items()} | {"stages": told}
