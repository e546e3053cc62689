"""Working a plan out: the policy in force and the proposed one on the load rows of this moment."""

import threading
from typing import Any

import numpy as np
from django.db import connection

from controlplane import kernels
from controlplane.policy import documents, versions
from controlplane.sharing import plan
from controlplane.sharing.queues import FederationQueues, Row
from controlplane.statestore import loads
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import TooLarge, Unavailable
from controlplane.statestore.loads import GONE, Load
from controlplane.statestore.models import Queue
from wire.resources import AXES

Json = dict[str, Any]
MOST = 500  # queues in one answer
INTERPRETED = 2_000  # sub-clusters times queues that are worked out in seconds before kernels are compiled
_WAIT_S = 20.0
_one = threading.Lock()  # a plan takes a core; more at once would keep requests waiting


def of(document: Json) -> Json:
    """What this document would do now. ``Invalid`` names what is wrong with it; six queries."""
    valid, rows = documents.validate(document)
    live = [versions.as_override(row) for row in versions.live_overrides(database_now())]
    found = versions.effective(valid, rows, live)
    proposed = FederationQueues(
        0, [Row(row.path, row.parent_path, row.capacities, row.weight) for row in found.rows], found.document
    )
    present = _in_force()
    connection.ensure_connection()
    known = loads.read(connection.connection)
    _check(len(known) * max(len(proposed.paths), len(present.paths)))
    if not _one.acquire(timeout=_WAIT_S):
        raise Unavailable("other plans are being worked out", retry_after_s=5)
    try:
        told = plan.compare(plan.outlook(present, known), plan.outlook(proposed, known))
    except plan.TooManyQueues as error:
        raise TooLarge(f"{error} are more than a plan is worked out for; the diff says what changes") from None
    finally:
        _one.release()
    return _told(present.version or None, known, told)


def _in_force() -> FederationQueues:
    found = versions.active()
    if found is None:
        return FederationQueues(0, [], {})
    rows = Queue.objects.filter(version=found).values_list("path", "parent_path", "capacities", "weight")
    return FederationQueues(found.pk, [Row._make(row) for row in rows], found.document)


def _check(size: int) -> None:
    if size > INTERPRETED and not kernels.compiled():
        kernels.compile_in_background()
        raise Unavailable("the kernels for so many queues are being compiled; ask again", retry_after_s=10)


def _told(version: int | None, known: list[Load], told: plan.SharesPlan) -> Json:
    before, after = told.before, told.after
    moved = [row for row in told.rows if _differs(told, row)]
    moving = {row.path for row in moved}
    shown = (moved + [row for row in told.rows if row.path not in moving])[:MOST]
    was, becomes = _Side(before), _Side(after)
    return {
        "from": version,
        "capacity": _amounts(after.capacity),
        "sub_clusters": [
            {"name": load.name, "led": load.led, "age_s": round(load.age_s, 3)}
            for load in known
            if load.state not in GONE
        ],
        "loads_missing": not before.capacity.any() and not after.capacity.any(),
        "total": len(told.rows),
        "changed": len(moved),
        "starving": int(becomes.starves.sum()),
        "gives_back": _amounts(after.back[after.leaf].sum(axis=0)),
        "queues": [_queue(was, becomes, row) for row in shown],
    }


def _differs(told: plan.SharesPlan, row: plan.QueueChange) -> bool:
    if row.before is None or row.after is None:
        return True
    return any(
        not np.array_equal(getattr(told.before, name)[row.before], getattr(told.after, name)[row.after])
        for name in ("guaranteed", "share")
    )


class _Side:
    """One policy's outlook, told queue by queue."""

    def __init__(self, found: plan.Outlook) -> None:
        self.found, self.lacks, self.starves = found, found.lacks(), found.starves()

    def told(self, at: int | None) -> Json | None:
        if at is None:
            return None
        f = self.found
        columns = {"guaranteed": f.guaranteed, "share": f.share, "due": f.due}
        columns |= {"lacks": self.lacks, "gives_back": f.back}
        return {name: _amounts(column[at]) for name, column in columns.items()} | {"starves": bool(self.starves[at])}


def _queue(was: _Side, becomes: _Side, row: plan.QueueChange) -> Json:
    side, at = (becomes.found, row.after) if row.after is not None else (was.found, row.before)
    assert at is not None
    return {
        "path": row.path,
        "leaf": bool(side.leaf[at]),
        "moved": round(row.moved, 6),
        "used": _amounts(side.used[at]),
        "wanted": _amounts(side.wanted[at]),
        "before": was.told(row.before),
        "after": becomes.told(row.after),
    }


def _amounts(values: np.ndarray) -> dict[str, int]:
    return dict(zip(AXES, values.tolist(), strict=True))
