"""What operators want of a node: cordon, drain, take back, decommission. Its RM carries it out."""

import datetime as dt

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from controlplane import events
from controlplane.statestore import bus
from controlplane.statestore.errors import Conflict
from controlplane.statestore.models import Container, Intent, Node

from . import nodes
from .audit import SYSTEM, Actor, record

Duty = Node.Duty


def cordon(actor: Actor, node: Node, message: str = "") -> Node:
    """No new containers; what runs there runs on, also when it was being drained."""
    return _set(actor, node, Duty.CORDONED, message, "node.cordon")


def drain(actor: Actor, node: Node, deadline_s: int | None, message: str = "") -> Node:
    """Empty the node: services now, the rest at the deadline at the latest (``None``: whenever it ends)."""
    return _set(actor, node, Duty.DRAINING, message, "node.drain", deadline_s)


def uncordon(actor: Actor, node: Node, message: str = "") -> Node:
    """Back to work. A decommissioned node's agent may register again."""
    return _set(actor, node, Duty.IN_SERVICE, message, "node.uncordon")


def decommission(actor: Actor, node: Node, deadline_s: int | None, message: str = "") -> Node:
    """Drain the node; once it is empty (``retire``) its credential ends and it is no longer counted."""
    return _set(actor, node, Duty.DECOMMISSIONED, message, "node.decommission", deadline_s)


def _set(actor: Actor, node: Node, duty: Node.Duty, message: str, action: str, deadline_s: int | None = None) -> Node:
    with transaction.atomic():
        row = Node.objects.select_for_update().get(pk=node.pk)
        if row.duty == Duty.DECOMMISSIONED and duty in (Duty.CORDONED, Duty.DRAINING):
            raise Conflict(f"node {row.name} is decommissioned; take it back first: hydractl node uncordon {row.name}")
        before = {"duty": row.duty}
        now = database_now()
        row.duty, row.duty_message, row.duty_by_id, row.duty_at = duty, message, actor.user_id, now
        row.duty_deadline = None if deadline_s is None else now + dt.timedelta(seconds=deadline_s)
        row.save(update_fields=["duty", "duty_message", "duty_by", "duty_at", "duty_deadline"])
        after = {"duty": str(duty), "message": message, "deadline_s": deadline_s}
        record(actor, action, f"node/{row.pk}", before, after)
        tell(row, {"duty": str(duty)})
    return row


def database_now() -> dt.datetime:
    """The clock by which RMs keep deadlines."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: dt.datetime = cursor.fetchone()[0]
    return now


def tell(node: Node, payload: dict[str, str]) -> None:
    """Have the node's RM read its row; inside the change's transaction."""
    Intent.objects.create(sub_cluster_id=node.sub_cluster_id, kind=Intent.Kind.NODE, node_id=node.pk, payload=payload)
    transaction.on_commit(lambda: _hint(node.sub_cluster_id))


def _hint(sub_cluster_id: int) -> None:
    bus.wake([sub_cluster_id])
    events.hint("nodes", "overview")


def retire() -> list[str]:
    """End the credentials of decommissioned nodes that are empty; their names. Harmless when doubled.

    An intent still waiting means that its RM may not know yet, and place something there.
    """
    held = Container.objects.filter(node_id=OuterRef("pk"))
    untold = Intent.objects.filter(kind=Intent.Kind.NODE, node_id=OuterRef("pk"))
    leaving = Node.objects.filter(duty=Duty.DECOMMISSIONED, credential__revoked_at=None)
    gone = list(leaving.exclude(Exists(held)).exclude(Exists(untold)))
    for node in gone:
        nodes.decommission(SYSTEM, node)
    return [node.name for node in gone]
