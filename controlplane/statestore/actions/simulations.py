"""Ask for a what-if simulation, and call one off. ``simulationruns`` is what runners write."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.statestore.errors import Conflict, NotFound, TooMany
from controlplane.statestore.models import PolicyVersion, Simulation, SimulationTrace, SubCluster

from .audit import Actor, record

QUEUED_MOST = 5  # of one account
KEPT_EACH, KEPT_ALL = 50, 300  # that have ended: of one account, and of all
CHANGE_MOST: int = Simulation._meta.get_field("change").max_length or 0  # characters
RUNNING_MOST = 2  # at a time, in the whole federation
LOCK_KEY = 0x48594453  # "HYDS", for pg_advisory_xact_lock
LIVE = (Simulation.State.QUEUED, Simulation.State.RUNNING)


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be simulated. document: as it would hold. digest: of what operators wrote. version: if it is one.
    change: what it changes first of all, in words.

    sub_cluster: is drained, with the policy in force on both sides; forecast:
    whether the last hour's arrivals are taken to repeat meanwhile; deadline_s:
    when what still runs there is stopped, None: never.

    trace: is replayed instead of the history, with own_nodes on its nodes.
    queues: where jobs go of queues that a policy does not have.
    """

    begins_at: dt.datetime
    ends_at: dt.datetime
    base: PolicyVersion
    document: dict[str, Any]
    digest: str = ""
    change: str = ""
    version: int | None = None
    seeds: int = 1
    sub_cluster: SubCluster | None = None
    forecast: bool | None = None
    trace: SimulationTrace | None = None
    own_nodes: bool | None = None
    deadline_s: float | None = None
    queues: dict[str, str] = field(default_factory=dict)


def turn() -> None:
    """One at a time bounds how many there are, until the end of this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])


def request(actor: Actor, asked: Question) -> Simulation:
    """Queue it. ``TooMany`` while the account has five that have not begun."""
    with transaction.atomic():
        turn()
        waiting = Simulation.objects.filter(requested_by=actor.user_id, state=Simulation.State.QUEUED).count()
        if waiting >= QUEUED_MOST:
            raise TooMany(f"{waiting} simulations of yours wait already; cancel one or wait", retry_after_s=10)
        kind = Simulation.Kind.DRAIN if asked.sub_cluster else Simulation.Kind.POLICY
        row = Simulation.objects.create(
            kind=kind, requested_by_id=actor.user_id, requested_at=Now(), begins_at=asked.begins_at,
            ends_at=asked.ends_at, base=asked.base, version_id=asked.version, document=asked.document,
            digest=asked.digest, change=asked.change, sub_cluster=asked.sub_cluster, forecast=asked.forecast,
            trace=asked.trace, trace_name=asked.trace.name if asked.trace else "", own_nodes=asked.own_nodes,
            queues=asked.queues, seeds=asked.seeds,
            deadline_s=asked.deadline_s,
        )  # fmt: skip
        window = {"from": asked.begins_at.isoformat(), "to": asked.ends_at.isoformat()}
        told: dict[str, Any] = {"base": asked.base.pk, "seeds": asked.seeds}
        if asked.sub_cluster:
            told |= {"drain": asked.sub_cluster.name, "forecast": asked.forecast, "deadline_s": asked.deadline_s}
        else:
            told |= {"version": asked.version, "digest": asked.digest, "queues": asked.queues}
        if asked.trace:
            told |= {"trace": asked.trace.pk, "name": asked.trace.name, "own_nodes": asked.own_nodes}
        record(actor, "simulation.request", f"simulation/{row.pk}", after=window | told)
        purge(actor.user_id)
    row.refresh_from_db()
    return row


def cancel(actor: Actor, number: int) -> None:
    """Call it off; its runner notices within two seconds. Once more changes nothing; ``Conflict`` when it has ended."""
    with transaction.atomic():
        row = (
            Simulation.objects.select_for_update().only("pk", "state").filter(pk=number).first()
            if _fits(number)
            else None
        )
        if row is None:
            raise NotFound(f"there is no simulation {number}")
        if row.state == Simulation.State.CANCELLED:
            return
        if row.state not in LIVE:
            raise Conflict(f"simulation {number} is {row.state} already")
        Simulation.objects.filter(pk=number).update(state=Simulation.State.CANCELLED, token=None, ended_at=Now())
        record(actor, "simulation.cancel", f"simulation/{number}", before={"state": row.state})


def purge(owner: int | None = None) -> int:
    """Delete what has ended beyond what is kept, the oldest first: of one account, or of all together.

    The newest answer of the history about what a policy version says stays with it, and counts as none of these.
    """
    said = PolicyVersion.objects.exclude(digest="").values("digest")
    answers = Simulation.objects.filter(
        state=Simulation.State.DONE, kind=Simulation.Kind.POLICY, trace_name="", digest__in=said
    )
    newest = answers.order_by("digest", "-pk").distinct("digest").values("pk")
    ended = Simulation.objects.exclude(state__in=LIVE).exclude(pk__in=newest).order_by("-pk")
    gone = list(ended.values_list("pk", flat=True)[KEPT_ALL:])
    if owner is not None:
        gone += ended.filter(requested_by=owner).values_list("pk", flat=True)[KEPT_EACH:]
    return Simulation.objects.filter(pk__in=gone).delete()[0]


def _fits(number: int) -> bool:
    return 0 < number < 2**63
