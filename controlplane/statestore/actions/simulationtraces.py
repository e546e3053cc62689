"""Traces that operators hand in to be simulated: kept as long as there is place for them."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from controlplane.statestore.errors import Conflict, NotFound, TooMany
from controlplane.statestore.models import Simulation, SimulationTrace

from .audit import Actor, record
from .simulations import LIVE, turn

KEPT_EACH, KEPT_ALL = 10, 40  # of one account, and of all: 16 MiB each at most


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What was read of a file. columns: what is told of it, by the columns of ``SimulationTrace``."""

    name: str
    kind: str
    history: bytes
    machines: list[dict[str, Any]] | None
    columns: dict[str, Any]


def add(actor: Actor, found: HandedIn) -> SimulationTrace:
    """Keep it; the oldest that nothing is to be simulated of makes way. ``TooMany`` where there is none."""
    with transaction.atomic():
        turn()
        _make_way(SimulationTrace.objects.filter(added_by=actor.user_id), KEPT_EACH, "of yours")
        _make_way(SimulationTrace.objects.all(), KEPT_ALL, "of all")
        row = SimulationTrace.objects.create(
            added_by_id=actor.user_id, added_at=Now(), name=found.name, kind=found.kind, history=found.history,
            machines=found.machines, nodes=found.machines and len(found.machines), **found.columns,
        )  # fmt: skip
        record(actor, "simulation.trace", f"simulation-trace/{row.pk}", after={"name": row.name, "jobs": row.jobs})
    row.refresh_from_db(fields=["added_at"])
    return row


def put_nodes(actor: Actor, number: int, machines: list[dict[str, Any]]) -> None:
    """The nodes that the trace ran on, in place of those that were told before; ``Conflict`` while that is asked of."""
    with transaction.atomic():
        turn()
        if asked := Simulation.objects.filter(trace=number, own_nodes=True, state__in=LIVE).order_by("pk").first():
            raise Conflict(f"simulation {asked.pk} is of this trace on its own nodes; wait for it, or cancel it")
        found = SimulationTrace.objects.filter(pk=number).update(machines=machines, nodes=len(machines))
        if not found:
            raise NotFound(f"there is no trace {number}")
        record(actor, "simulation.trace-nodes", f"simulation-trace/{number}", after={"nodes": len(machines)})


def _make_way(rows: "QuerySet[SimulationTrace]", most: int, whose: str) -> None:
    """Leave room for one more."""
    live = Simulation.objects.filter(trace=OuterRef("pk"), state__in=LIVE)
    too_many = rows.count() - most + 1
    if too_many <= 0:
        return
    gone = list(rows.exclude(Exists(live)).order_by("pk").values_list("pk", flat=True)[:too_many])
    if len(gone) < too_many:
        raise TooMany(f"{most} traces {whose} wait to be simulated; wait for one, or cancel it", retry_after_s=30)
    SimulationTrace.objects.filter(pk__in=gone).delete()
