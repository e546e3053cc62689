"""Put a policy version in force: its queue rows, the one active flag, and an intent to every RM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from controlplane import events
from controlplane.statestore import bus
from controlplane.statestore.models import Intent, PolicyVersion, Queue, SubCluster

from .audit import Actor, record


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue of the document, flattened. Shares are of the parent, 0 to 1."""

    path: str
    parent_path: str
    guaranteed: float
    maximum: float
    weight: float
    open_to_all: bool
    stopped: bool
    leaf: bool


def publish(actor: Actor, document: dict[str, Any], queues: Sequence[QueueRow], message: str) -> PolicyVersion:
    """Store the document as a new version and make it the one in force. It must have been validated."""
    with transaction.atomic():
        with connection.cursor() as cursor:  # one publisher at a time, held no longer than this transaction
            cursor.execute("LOCK TABLE statestore_policyversion IN SHARE ROW EXCLUSIVE MODE")
        parent = PolicyVersion.objects.filter(active=True).first()
        PolicyVersion.objects.filter(active=True).update(active=False)
        version = PolicyVersion.objects.create(
            document=document, message=message, author_id=actor.user_id, parent=parent, active=True
        )
        Queue.objects.bulk_create(
            [
                Queue(
                    version=version,
                    path=q.path,
                    parent_path=q.parent_path,
                    guaranteed=q.guaranteed,
                    maximum=q.maximum,
                    weight=q.weight,
                    open_to_all=q.open_to_all,
                    stopped=q.stopped,
                    leaf=q.leaf,
                )
                for q in queues
            ]
        )
        ids = list(SubCluster.objects.exclude(state=SubCluster.State.DECOMMISSIONED).values_list("pk", flat=True))
        Intent.objects.bulk_create(
            [Intent(sub_cluster_id=i, kind=Intent.Kind.POLICY, payload={"version": version.pk}) for i in ids]
        )
        before = {"version": parent.pk} if parent else None
        record(actor, "policy.publish", f"policy/{version.pk}", before, {"version": version.pk, "message": message})
        transaction.on_commit(lambda: _tell(ids))
    return version


def _tell(sub_clusters: list[int]) -> None:
    bus.wake(sub_clusters)
    events.hint("queues", "overview")
