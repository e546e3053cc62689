"""How a sub-cluster's life stands: its state and since when, its lease, what its leader last said of its load."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now

from controlplane.statestore.models import Container, Job, Lease, LoadRow, Node, ShareAssignment, SubCluster
from wire.resources import AXES
from wire.states import JobState, NodeState

Json = dict[str, Any]
State = SubCluster.State


def lives(rows: Iterable[SubCluster]) -> dict[int, Json]:
    """By number: what the JSON of each says of its life. Three queries, and two for each that comes or goes."""
    leases = {
        r["pk"]: r for r in Lease.objects.annotate(now=Now()).values("pk", "epoch", "holder", "expires_at", "now")
    }
    loads = {
        r["pk"]: r
        for r in LoadRow.objects.annotate(age=Now() - F("at")).values(
            "pk", "epoch", "nodes_up", "shares_version", "capacity", "free", "pending", "age"
        )
    }
    shares = {
        r["pk"]: {"version": r["version"], "age_s": _seconds(r["age"])}
        for r in ShareAssignment.objects.annotate(age=Now() - F("at")).values("pk", "version", "age")
    }
    return {row.pk: _life(row, leases.get(row.pk), loads.get(row.pk), shares.get(row.pk)) for row in rows}


def _life(row: SubCluster, lease: Json | None, load: Json | None, shares: Json | None) -> Json:
    held = lease is not None and lease["expires_at"] is not None
    left = lease["expires_at"] - lease["now"] if held and lease else None
    led = bool(left and left > dt.timedelta(0) and lease and lease["holder"])
    return {
        "message": row.state_message,
        "state_at": row.state_at or row.created_at,
        "deadline": row.deadline,
        "leader": lease["holder"] if led and lease else None,
        "epoch": lease["epoch"] if lease else 0,
        "lease_ok": led,
        "lease_age_s": None if left is None else max(0.0, round(settings.HYDRA["lease_s"] - left.total_seconds(), 1)),
        "load": _load(load) if load else None,
        "shares": shares,
        "waits_for": waits_for(row, led),
        "left": left_there(row.pk) if row.state in (State.DRAINING, State.LOST) else None,
    }


def _load(row: Json) -> Json:
    told = {what: row[what] for what in ("epoch", "nodes_up", "shares_version")}
    amounts = {what: dict(zip(AXES, row[what], strict=False)) for what in ("capacity", "free", "pending")}
    return {"age_s": _seconds(row["age"])} | told | amounts


def _seconds(age: dt.timedelta) -> float:
    return round(max(0.0, age.total_seconds()), 1)


def waits_for(row: SubCluster, led: bool) -> list[str]:
    """What a joining sub-cluster lacks before it runs."""
    if row.state != State.JOINING:
        return []
    lacks = [] if led else [f"a worker for queue rm.{row.name}"]
    up = Node.objects.filter(sub_cluster=row, state=NodeState.UP).exists()
    return lacks if up else [*lacks, "a first node"]


def left_there(sub_cluster_id: int) -> dict[str, int]:
    """What keeps it from being decommissioned: live jobs at home there, and containers there."""
    jobs = Job.objects.filter(home=sub_cluster_id, state__lt=JobState.SUCCEEDED).count()
    return {"jobs": jobs, "containers": Container.objects.filter(sub_cluster_id=sub_cluster_id).count()}
