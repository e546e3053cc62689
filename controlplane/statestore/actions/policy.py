"""Put a policy version in force: its queue rows, the one active flag, and an intent to every RM."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from django.db import connection, transaction
from django.db.models import Count
from django.db.models.functions import Now

from contract.problems import FieldError
from controlplane import events
from controlplane.accounts.models import QueueAccess
from controlplane.statestore import bus
from controlplane.statestore.errors import Conflict, Stale
from controlplane.statestore.models import AuditEntry, Intent, Job, PolicyVersion, Queue, QueueGrant, SubCluster
from wire.counts import counted
from wire.states import JobState

from . import staged
from .audit import Actor, entry, record

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
    max_live_jobs_per_user: int | None
    max_live_tasks_per_user: int | None
    max_live_mib_per_user: int | None
    max_am_share: float
    max_priority: int
    default_priority: int
    state: str
    open_to_all: bool
    default_partition: str
    submit: tuple[str, ...] = ()
    administer: tuple[str, ...] = ()


_COLUMNS = [f.name for f in fields(QueueRow) if f.name not in ("submit", "administer")]


def lock() -> None:
    """One changer of the policy at a time, until the end of this transaction. Take it before anything is written."""
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE statestore_policyversion IN SHARE ROW EXCLUSIVE MODE")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document comes from when it is not just what its author wrote.

    ``written``, ``base``, ``overrides``: as the columns of ``PolicyVersion``. ``approved_by``: an account.
    """

    written: dict[str, Any] | None = None
    base: int | None = None
    overrides: Collection[int] = ()
    approved_by: int | None = None


PLAIN = Origin()


def create_version(
    actor: Actor,
    document: dict[str, Any],
    queues: Sequence[QueueRow],
    message: str,
    *,
    parent: int | None = None,
    origin: Origin = PLAIN,
    digest: str = "",
) -> PolicyVersion:
    """Store a validated document with its queues as a version that is not in force. It leaves no audit row.

    digest: of what operators wrote, by which answers about it are kept.
    """
    with transaction.atomic():
        lock()
        version = PolicyVersion.objects.create(
            document=document,
            digest=digest,
            message=message,
            author_id=actor.user_id,
            parent_id=parent or None,
            active=False,
            written=origin.written,
            base_id=origin.base,
            overrides=list(origin.overrides),
            approved_by_id=origin.approved_by,
        )
        Queue.objects.bulk_create(
            [Queue(version=version, **{name: getattr(q, name) for name in _COLUMNS}) for q in queues]
        )
        QueueGrant.objects.bulk_create(_grants(version, queues))
    return version


def activate(
    actor: Actor,
    version: PolicyVersion,
    *,
    parent: int | None = None,
    force: bool = False,
    changes: Sequence[dict[str, Any]] = (),
) -> PolicyVersion:
    """Put a stored version in force everywhere, with an audit row and an intent to every RM.

    ``changes``: for the audit row, as ``controlplane.policy.diff`` finds them.
    ``Stale`` when ``parent`` is given and no longer in force; ``Conflict``
    when a queue would vanish under live jobs, or another version is being
    rolled out in stages, unless ``force``.
    """
    with transaction.atomic():
        lock()
        active = PolicyVersion.objects.filter(active=True).defer("document").first()
        check_parent(active, parent)
        if active and not force:
            _check_jobs(active, set(Queue.objects.filter(version=version).values_list("path", "leaf")))
        derived = active is not None and base_of(active) == base_of(version)
        staged.give_way(actor, version, derived=derived, force=force)
        PolicyVersion.objects.filter(active=True).update(active=False)
        PolicyVersion.objects.filter(pk=version.pk).update(active=True, activated_at=Now())
        version.active = True
        ids = list(SubCluster.objects.exclude(state=SubCluster.State.DECOMMISSIONED).values_list("pk", flat=True))
        Intent.objects.bulk_create(
            [Intent(sub_cluster_id=i, kind=Intent.Kind.POLICY, payload={"version": version.pk}) for i in ids]
        )
        before, after = _audited(active, version, changes)
        after |= {"author": version.author.username} if version.author_id not in (None, actor.user_id) else {}
        record(actor, "policy.publish", f"policy/{version.pk}", before, after | ({"force": True} if force else {}))
        AuditEntry.objects.bulk_create(_audited_queues(actor, version, changes))
        transaction.on_commit(lambda: _tell(ids, version.pk))
    return version


def publish(
    actor: Actor,
    document: dict[str, Any],
    queues: Sequence[QueueRow],
    message: str,
    *,
    parent: int | None = None,
    force: bool = False,
) -> PolicyVersion:
    """Store the document as a new version and put it in force, or do neither. Refuses as ``activate``."""
    with transaction.atomic():
        lock()
        active = PolicyVersion.objects.filter(active=True).values_list("pk", flat=True).first()
        version = create_version(actor, document, queues, message, parent=active)
        return activate(actor, version, parent=parent, force=force)


def rows_of(version: PolicyVersion) -> list[QueueRow]:
    """A stored version's queues, to be stored with another one."""
    levels: dict[tuple[str, str], list[str]] = {}
    for queue, level, principal in QueueGrant.objects.filter(version=version).values_list(
        "queue", "level", "principal"
    ):
        levels.setdefault((queue, level), []).append(principal)
    return [
        QueueRow(
            **{name: getattr(q, name) for name in _COLUMNS},
            submit=tuple(levels.get((q.path, QueueAccess.Level.SUBMIT), ())),
            administer=tuple(levels.get((q.path, QueueAccess.Level.ADMIN), ())),
        )
        for q in Queue.objects.filter(version=version)
    ]


def _grants(version: PolicyVersion, queues: Iterable[QueueRow]) -> list[QueueGrant]:
    levels = ((QueueAccess.Level.SUBMIT, "submit"), (QueueAccess.Level.ADMIN, "administer"))
    return [
        QueueGrant(version=version, queue=q.path, principal=name, level=level)
        for q in queues
        for level, column in levels
        for name in getattr(q, column)
    ]


def _audited(
    active: PolicyVersion | None, version: PolicyVersion, changes: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """What the audit row says was before, and is after: the versions, and the values that differ."""
    sides: list[dict[str, Any]] = []
    for number, side in ((active.pk if active else None, "before"), (version.pk, "after")):
        values = [{"path": c["path"], "field": c["field"], "value": c[side]} for c in changes]
        sides.append({"version": number} | ({"values": values} if values else {}))
    told = {"changes": [c["text"] for c in changes]} if changes else {}
    more = {"overrides": version.overrides} if version.overrides else {}
    return sides[0] if active else None, sides[1] | {"message": version.message} | told | more


def _audited_queues(actor: Actor, version: PolicyVersion, changes: Sequence[dict[str, Any]]) -> Iterator[AuditEntry]:
    """A row of each queue that changes: who looks for what became of a queue knows no versions."""
    for path in dict.fromkeys(c["path"] for c in changes if c["path"].partition(".")[0] == "root"):
        own = [c for c in changes if c["path"] == path]
        before, after = ({c["field"]: c[side] for c in own} for side in ("before", "after"))
        after |= {"version": version.pk, "changes": [c["text"] for c in own]}
        yield entry(actor, "queue.policy", f"queue/{path}", before, after)


def base_of(version: PolicyVersion) -> int:
    """The version in which operators wrote what this one is made of: versions of one base lose no change."""
    return version.base_id or version.pk


def check_parent(active: PolicyVersion | None, parent: int | None) -> None:
    """``Stale`` when a document made from the version ``parent`` would undo what came into force since."""
    if parent is None or parent == (active.pk if active else 0):
        return
    made_from = PolicyVersion.objects.filter(pk=parent).only("base_id").first()
    if active is None or made_from is None or base_of(made_from) != base_of(active):
        found = f"version {active.pk} is" if active else "no version is"
        text = f"{found} in force, and the document was made from version {parent}"
        raise Stale(text, [FieldError("parent", text, "read it again and make the change there")])


def field_of(path: str) -> str:
    """Where a document has the queue: ``queues.prod.children.etl`` of ``root.prod.etl``."""
    return ".children.".join(path.split(".")).replace("root.children", "queues", 1)


def _check_jobs(active: PolicyVersion, queues: Iterable[tuple[str, bool]]) -> None:
    """A queue that stops being a leaf, or vanishes, must hold no live job. ``queues``: (path, leaf) to come."""
    leaves = {path for path, leaf in queues if leaf}
    before = Queue.objects.filter(version=active, leaf=True).values_list("path", flat=True)
    gone = [path for path in before if path not in leaves]
    if not gone:
        return
    live = Job.objects.filter(queue__in=gone, state__lt=JobState.SUCCEEDED).values_list("queue")
    kept = {path for path, _ in queues}
    found = [
        FieldError(
            field_of(path),
            f"{path} has {counted(n, 'live job')} and would {'get queues below it' if path in kept else 'be removed'}",
            "keep it with state: stopped until they have ended, or push with --force",
        )
        for path, n in live.annotate(n=Count("id")).order_by("queue")[:NAMED_MAX]
    ]
    if found:
        raise Conflict(f"jobs live in queues that this policy removes: {found[0].message}", found)


def _tell(sub_clusters: list[int], version: int) -> None:
    bus.wake(sub_clusters)
    bus.announce_policy(version)
    events.hint("queues", "overview", "policy")
