"""Put a policy version in force: its queue rows, the one active flag, and an intent to every RM."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from django.db import connection, transaction
from django.db.models import Count

from controlplane import events
from controlplane.accounts.models import QueueAccess
from controlplane.statestore import bus
from controlplane.statestore.models import Intent, Job, PolicyVersion, Queue, QueueGrant, SubCluster
from wire.states import JobState

from .audit import Actor, record
from .errors import Conflict, FieldError, Stale

NAMED_MAX = 20


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue of the document, flattened; as ``models.Queue``, with the document's access lists."""

    path: str
    parent_path: str
    leaf: bool
    capacities: dict[str, Any]
    weight: float | None
    ordering: str
    preemptable: bool
    user_maximum: float
    max_running_jobs: int | None
    max_running_jobs_per_user: int | None
    max_am_share: float
    max_priority: int
    default_priority: int
    state: str
    open_to_all: bool
    default_partition: str
    submit: tuple[str, ...] = ()
    administer: tuple[str, ...] = ()


_COLUMNS = [f.name for f in fields(QueueRow) if f.name not in ("submit", "administer")]


def publish(
    actor: Actor,
    document: dict[str, Any],
    queues: Sequence[QueueRow],
    message: str,
    *,
    parent: int | None = None,
    force: bool = False,
) -> PolicyVersion:
    """Store the document as a new version and make it the one in force. It must have been validated.

    ``Stale`` when ``parent`` is given and no longer in force; ``Conflict``
    when a queue would vanish under live jobs, unless ``force``.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:  # one publisher at a time, held no longer than this transaction
            cursor.execute("LOCK TABLE statestore_policyversion IN SHARE ROW EXCLUSIVE MODE")
        active = PolicyVersion.objects.filter(active=True).defer("document").first()
        _check_parent(active, parent)
        if active and not force:
            _check_jobs(active, queues)
        PolicyVersion.objects.filter(active=True).update(active=False)
        version = PolicyVersion.objects.create(
            document=document, message=message, author_id=actor.user_id, parent=active, active=True
        )
        Queue.objects.bulk_create(
            [Queue(version=version, **{name: getattr(q, name) for name in _COLUMNS}) for q in queues]
        )
        QueueGrant.objects.bulk_create(_grants(version, queues))
        ids = list(SubCluster.objects.exclude(state=SubCluster.State.DECOMMISSIONED).values_list("pk", flat=True))
        Intent.objects.bulk_create(
            [Intent(sub_cluster_id=i, kind=Intent.Kind.POLICY, payload={"version": version.pk}) for i in ids]
        )
        before = {"version": active.pk} if active else None
        after = {"version": version.pk, "message": message} | ({"force": True} if force else {})
        record(actor, "policy.publish", f"policy/{version.pk}", before, after)
        transaction.on_commit(lambda: _tell(ids))
    return version


def _grants(version: PolicyVersion, queues: Iterable[QueueRow]) -> list[QueueGrant]:
    levels = ((QueueAccess.Level.SUBMIT, "submit"), (QueueAccess.Level.ADMIN, "administer"))
    return [
        QueueGrant(version=version, queue=q.path, principal=name, level=level)
        for q in queues
        for level, column in levels
        for name in getattr(q, column)
    ]


def _check_parent(active: PolicyVersion | None, parent: int | None) -> None:
    if parent is not None and parent != (active.pk if active else 0):
        found = f"version {active.pk} is" if active else "no version is"
        text = f"{found} in force, and the document was made from version {parent}"
        raise Stale(text, [FieldError("parent", text, "read it again and make the change there")])


def _check_jobs(active: PolicyVersion, queues: Sequence[QueueRow]) -> None:
    """A queue that stops being a leaf, or vanishes, must hold no live job."""
    leaves = {q.path for q in queues if q.leaf}
    before = Queue.objects.filter(version=active, leaf=True).values_list("path", flat=True)
    gone = [path for path in before if path not in leaves]
    if not gone:
        return
    live = Job.objects.filter(queue__in=gone, state__lt=JobState.SUCCEEDED).values_list("queue")
    kept = {q.path for q in queues}
    found = [
        FieldError(
            ".children.".join(path.split(".")).replace("root.children", "queues", 1),
            f"{path} has {n} live job(s) and would {'get queues below it' if path in kept else 'be removed'}",
            "keep it with state: stopped until they have ended, or publish with force",
        )
        for path, n in live.annotate(n=Count("id")).order_by("queue")[:NAMED_MAX]
    ]
    if found:
        raise Conflict(f"jobs live in queues that this policy removes: {found[0].message}", found)


def _tell(sub_clusters: list[int]) -> None:
    bus.wake(sub_clusters)
    events.hint("queues", "overview")
