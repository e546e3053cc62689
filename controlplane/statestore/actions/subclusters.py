"""What becomes of sub-clusters: made, joined, drained, resumed, lost, found, decommissioned."""

import datetime as dt
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F

from controlplane import events
from controlplane.statestore import bus
from controlplane.statestore.errors import Conflict
from controlplane.statestore.lifeline import LEAVE_LOST, State, Step, after
from controlplane.statestore.models import (
    AdmissionCount,
    Intent,
    JoinToken,
    Lease,
    Node,
    NodeCredential,
    SubCluster,
)
from controlplane.statestore.queries.subclusters.life import left_there
from wire.states import NodeState

from . import nodes
from .audit import SYSTEM, Actor, record
from .duty import database_now

LEAVE = "its jobs leave once no container is left: hydractl sub-cluster drain {name} --deadline 0s --wait"


def create(actor: Actor, name: str, state: State = State.RUNNING) -> SubCluster:
    """The sub-cluster of this name, made if it is new, with a lease row nobody holds yet."""
    with transaction.atomic():
        sub_cluster, created = SubCluster.objects.get_or_create(name=name, defaults={"state": state})
        Lease.objects.get_or_create(sub_cluster=sub_cluster)
        if created:
            record(actor, "sub-cluster.create", f"sub-cluster/{name}")
            transaction.on_commit(lambda: events.hint("overview"))
    return sub_cluster


def drain(actor: Actor, sub_cluster: SubCluster, deadline_s: int | None, message: str = "") -> SubCluster:
    """Empty it: nothing new is sent there, services leave now, the rest at the deadline (``None``: when it ends).

    Its jobs keep their job master there until no container is left; then its RM gives them other homes.
    """
    with transaction.atomic():
        row, before = _locked(sub_cluster), sub_cluster.state
        now = database_now()
        deadline = None if deadline_s is None else now + dt.timedelta(seconds=deadline_s)
        _set(row, after(row, Step.DRAIN), now, message, actor.user_id, deadline)
        _tell(actor, row, before, {"message": message, "deadline_s": deadline_s})
    return row


def resume(actor: Actor, sub_cluster: SubCluster, message: str = "") -> SubCluster:
    """End a drain: the Router sends it jobs again, and its nodes take containers."""
    with transaction.atomic():
        row = _locked(sub_cluster)
        if row.state == State.LOST:
            after(row, Step.RESUME)
        before = row.state
        _set(row, after(row, Step.RESUME), database_now(), message, actor.user_id)
        _tell(actor, row, before, {"message": message})
    return row


def lose(sub_cluster_id: int, message: str) -> SubCluster:
    """Nobody leads it and its nodes are silent: nothing is sent there. Fencing and re-homing are the GPG's."""
    with transaction.atomic():
        row = SubCluster.objects.select_for_update().get(pk=sub_cluster_id)
        before = row.state
        row.lost_from = before
        kept = row.deadline if before == State.DRAINING else None
        _set(row, after(row, Step.LOSE), database_now(), message, None, kept)
        _tell(SYSTEM, row, before, {"message": message})
    return row


def found(sub_cluster_id: int, message: str = "") -> SubCluster:
    """A lost one is back: it goes on as what it was lost as, running or draining."""
    with transaction.atomic():
        row = SubCluster.objects.select_for_update().get(pk=sub_cluster_id)
        before, draining = row.state, row.lost_from == State.DRAINING
        state = after(row, Step.FIND_DRAINING if draining else Step.FIND)
        row.lost_from = ""
        _set(row, state, database_now(), message, None, row.deadline if draining else None)
        _tell(SYSTEM, row, before, {"message": message})
    return row


def take_in() -> list[str]:
    """Joining sub-clusters that an RM leads and that have a node up are running from now on; their names.

    Harmless when doubled. Every RM is told, since limits are shares of all there is.
    """
    ready = SubCluster.objects.filter(
        state=State.JOINING, lease__expires_at__gt=database_now(), nodes__state=NodeState.UP
    ).distinct()
    names = []
    for row in ready:
        with transaction.atomic():
            locked = _locked(row)
            if locked.state != State.JOINING:
                continue
            _set(locked, after(locked, Step.JOIN), database_now(), "", None)
            _tell(SYSTEM, locked, State.JOINING, {})
            others = SubCluster.objects.exclude(state=State.DECOMMISSIONED).exclude(pk=row.pk)
            told = [Intent(sub_cluster=other, kind=Intent.Kind.POLICY) for other in others]
            Intent.objects.bulk_create(told)
            ids = [intent.sub_cluster_id for intent in told]
            transaction.on_commit(partial(bus.wake, ids))
        names.append(row.name)
    return names


def decommission(actor: Actor, sub_cluster: SubCluster, message: str = "") -> SubCluster:
    """It leaves for good, if it is empty: its RM is fenced off, its nodes' credentials and its join tokens end.

    Rows are locked in the order in which a round writes them, the lease last:
    what a round commits before is seen here, and none can commit after.
    """
    with transaction.atomic():
        row = _locked(sub_cluster)
        before, state = row.state, after(row, Step.DECOMMISSION)
        now = database_now()
        _retire_nodes(row, now)
        AdmissionCount.objects.filter(sub_cluster=row).delete()
        Lease.objects.filter(pk=row.pk).update(epoch=F("epoch") + 1, holder="", expires_at=None)
        still = {what: n for what, n in left_there(row.pk).items() if n}
        if still:
            listed = " and ".join(f"{n} {what if n > 1 else what.removesuffix('s')}" for what, n in still.items())
            how = LEAVE_LOST if before == State.LOST else LEAVE
            raise Conflict(f"sub-cluster {row.name} still has {listed}; {how.format(name=row.name)}")
        JoinToken.objects.filter(sub_cluster=row, revoked_at=None).update(revoked_at=now)
        _set(row, state, now, message, actor.user_id)
        _tell(actor, row, before, {"message": message})
        transaction.on_commit(lambda: nodes.restore_acl(row.pk))
    return row


def _retire_nodes(row: SubCluster, now: dt.datetime) -> None:
    """Its nodes are gone for good; from here on no RM writes them."""
    Node.objects.filter(sub_cluster=row).exclude(state=NodeState.DECOMMISSIONED).update(
        state=NodeState.DECOMMISSIONED, duty=Node.Duty.DECOMMISSIONED, state_changed_at=now
    )
    NodeCredential.objects.filter(node__sub_cluster=row, revoked_at=None).update(revoked_at=now)


def _locked(sub_cluster: SubCluster) -> SubCluster:
    return SubCluster.objects.select_for_update().get(pk=sub_cluster.pk)


def _set(
    row: SubCluster, state: State, now: dt.datetime, message: str, by: int | None, deadline: dt.datetime | None = None
) -> None:
    row.state, row.state_at, row.state_message, row.state_by_id, row.deadline = state, now, message[:255], by, deadline
    row.save(update_fields=["state", "state_at", "state_message", "state_by", "deadline", "lost_from"])


def _tell(actor: Actor, row: SubCluster, before: str, more: dict[str, Any]) -> None:
    """Audit row; its RM reads the row again as it reads maintenance windows; screens look again."""
    after_ = {"state": str(row.state)} | more
    record(actor, f"sub-cluster.{row.state}", f"sub-cluster/{row.name}", {"state": str(before)}, after_)
    if row.state != State.DECOMMISSIONED:
        Intent.objects.create(sub_cluster=row, kind=Intent.Kind.MAINTENANCE)
        transaction.on_commit(lambda: bus.wake([row.pk]))
    transaction.on_commit(lambda: events.hint("nodes", "overview"))
