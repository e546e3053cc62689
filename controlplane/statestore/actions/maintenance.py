"""Make and cancel maintenance windows."""

import datetime as dt
from dataclasses import dataclass

from django.db import transaction

from contract.problems import FieldError
from controlplane import events
from controlplane.statestore import bus
from controlplane.statestore.errors import Conflict, Invalid
from controlplane.statestore.models import Intent, MaintenanceWindow, SubCluster
from wire import labels

from .audit import Actor, record
from .duty import database_now

LONGEST = dt.timedelta(days=366)


@dataclass(frozen=True, slots=True)
class NewWindow:
    """Exactly one of ``node``, ``rack`` and ``labels`` is not empty."""

    node: str
    rack: str
    labels: str
    starts_at: dt.datetime
    ends_at: dt.datetime
    lead_s: int
    message: str


def _check(w: NewWindow, now: dt.datetime) -> None:
    wrong = []
    if sum(map(bool, (w.node, w.rack, w.labels))) != 1:
        wrong.append(FieldError("node", "must say which nodes", "give one of node, rack and labels"))
    if w.ends_at <= max(now, w.starts_at):
        wrong.append(FieldError("ends_at", "is not after its start, or has passed", "choose a later time"))
    if w.ends_at - w.starts_at > LONGEST:
        wrong.append(FieldError("ends_at", "is more than a year after its start", "decommission such nodes"))
    try:
        labels.parse(w.labels)
    except labels.LabelError as error:
        wrong.append(FieldError("labels", str(error), "write an expression such as: gpu && !spot"))
    if wrong:
        raise Invalid("the maintenance window has errors", wrong)


def add(actor: Actor, sub_cluster: SubCluster, w: NewWindow) -> MaintenanceWindow:
    """From ``lead_s`` before its start services leave the nodes; at its end they take work again by themselves."""
    _check(w, database_now())
    with transaction.atomic():
        row = MaintenanceWindow.objects.create(
            sub_cluster=sub_cluster,
            node=w.node,
            rack=w.rack,
            labels=w.labels,
            starts_at=w.starts_at,
            ends_at=w.ends_at,
            lead_s=w.lead_s,
            message=w.message,
            created_by_id=actor.user_id,
        )
        after = {"starts_at": w.starts_at.isoformat(), "ends_at": w.ends_at.isoformat(), "message": w.message}
        which = {k: v for k in ("node", "rack", "labels") if (v := getattr(w, k))}
        record(actor, "maintenance.add", f"maintenance/{row.pk}", after=after | which)
        _tell(sub_cluster.pk)
    return row


def cancel(actor: Actor, row: MaintenanceWindow) -> None:
    """The window is off; nodes that it kept from work take some at once. Asking twice changes nothing."""
    with transaction.atomic():
        held = MaintenanceWindow.objects.select_for_update().get(pk=row.pk)
        now = database_now()
        if held.ends_at <= now:
            raise Conflict(f"maintenance window {row.pk} is over")
        if held.cancelled_at is None:
            MaintenanceWindow.objects.filter(pk=row.pk).update(cancelled_at=now)
            record(actor, "maintenance.cancel", f"maintenance/{row.pk}")
            _tell(held.sub_cluster_id)


def _tell(sub_cluster_id: int) -> None:
    Intent.objects.create(sub_cluster_id=sub_cluster_id, kind=Intent.Kind.MAINTENANCE)
    transaction.on_commit(lambda: bus.wake([sub_cluster_id]))
    transaction.on_commit(lambda: events.hint("nodes", "overview"))
