"""The end of what has been kept long enough. Bounded batches, each a transaction of its own."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from knox.models import AuthToken

from controlplane import clock
from controlplane.statestore import partitions
from controlplane.statestore.actions import endpoints, execs, simulations
from controlplane.statestore.actions.artifacts import erased, name_of
from controlplane.statestore.actions.keeping import named
from controlplane.statestore.models import (
    Artifact,
    AuditEntry,
    IdempotencyKey,
    Job,
    JoinToken,
    MasterAsk,
    MasterLaunch,
    Notification,
    PolicyVersion,
    Queue,
    QueueGrant,
    SubClusterToken,
    TaskOutput,
    UsageTag,
)
from controlplane.statestore.queries.accounts.usage import DAYS_MAX
from controlplane.statestore.queries.jobs import schedules
from controlplane.statestore.queries.jobs.live import named_files
from controlplane.statestore.series import duty as series
from controlplane.wholefiles import PARTS
from wire.states import JobState

log = structlog.get_logger(__name__)

BATCH = 500
MAX_BATCHES = 200  # per run; the next run goes on
MOST = BATCH * MAX_BATCHES
IDEMPOTENCY_DAYS = 1
GIB = 1 << 30
UNBOUNDED = 1 << 62

_ENDED = Job.objects.filter(state__gte=JobState.SUCCEEDED)
_BEYOND = """
SELECT id FROM (
    SELECT id, finished_at, row_number() OVER newest AS jobs, sum(spec_bytes) OVER newest AS size
    FROM statestore_job WHERE owner_id = %s AND state >= %s WINDOW newest AS (ORDER BY finished_at DESC, id DESC)
) AS ended WHERE (jobs > %s OR size > %s) AND finished_at < %s ORDER BY finished_at, id LIMIT %s
"""
SPARED = dt.timedelta(hours=1)  # whoever waits for its end finds it


def run(now: dt.datetime | None = None) -> dict[str, int]:
    """Everything that is due; returns how much of what was removed. Who finds ``MOST`` of anything runs it again.

    What cannot be removed keeps nothing else from being: it is raised in the end, as an ``ExceptionGroup``.
    """
    now, removed, failed = now or clock.now(), dict[str, int](), list[Exception]()
    for what, purge in _DUTIES.items():
        try:
            removed[what] = purge(now)
        except Exception as error:
            log.exception("what has been kept long enough cannot be removed", what=what)
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"not all is removed that is due; removed: {removed}", failed)
    return removed


def purge_jobs(now: dt.datetime) -> int:
    """Jobs that ended more than ``history_days`` ago, with all that hangs on them."""
    cutoff = now - dt.timedelta(days=settings.HYDRA["history_days"])
    old = _ENDED.filter(finished_at__lt=cutoff).order_by("finished_at")
    removed = 0
    for _ in range(MAX_BATCHES):
        with transaction.atomic():
            ids = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
            Job.objects.filter(pk__in=ids).delete()
        removed += len(ids)
        if len(ids) < BATCH:
            break
    return removed


def purge_crowds(now: dt.datetime) -> int:
    """The oldest ended jobs of accounts that have more of them, or that say more, than one account may keep."""
    known = settings.HYDRA
    limits = int(known["history_jobs_per_user"]), int(known["history_max_gib_per_user"] * GIB)
    most = [limit or UNBOUNDED for limit in limits]
    kept = _ENDED.values("owner_id").annotate(jobs=Count("pk"), size=Sum("spec_bytes"))
    removed = 0
    for each in kept.filter(Q(jobs__gt=most[0]) | Q(size__gt=most[1])).order_by("owner_id"):
        with connection.cursor() as cursor:
            cursor.execute(_BEYOND, [each["owner_id"], JobState.SUCCEEDED, *most, now - SPARED, MOST])
            beyond = [number for (number,) in cursor.fetchall()]
        for first in range(0, len(beyond), BATCH):
            Job.objects.filter(pk__in=beyond[first : first + BATCH]).delete()
        removed += len(beyond)
    return removed


def purge_queues(now: dt.datetime) -> int:
    """Queue rows of policy versions that others replaced more than ``history_days`` ago. Their documents stay."""
    cutoff = now - dt.timedelta(days=settings.HYDRA["history_days"])
    successors = PolicyVersion.objects.filter(parent=OuterRef("pk"), activated_at__lt=cutoff)
    held = Queue.objects.filter(version=OuterRef("pk"))
    replaced = PolicyVersion.objects.filter(Exists(successors), Exists(held), active=False)
    removed = 0
    for version in replaced.only("pk").order_by("pk")[:MAX_BATCHES]:
        with transaction.atomic():
            QueueGrant.objects.filter(version=version).delete()
            removed += Queue.objects.filter(version=version).delete()[0]
    return removed


def purge_artifacts(now: dt.datetime) -> int:
    """Artifacts nobody used for ``artifact_days``, unless a job that has not ended may still want them."""
    cutoff = now - dt.timedelta(days=settings.HYDRA["artifact_days"])
    wanted = wanted_by_live_jobs(cutoff)
    after, removed = "", 0
    for _ in range(MAX_BATCHES):
        with transaction.atomic():
            rows = Artifact.objects.filter(last_used_at__lt=cutoff, digest__gt=after).order_by("digest")
            found = list(rows.select_for_update(skip_locked=True).values_list("digest", flat=True)[:BATCH])
            # While the rows are locked, so that nobody takes them up again meanwhile.
            gone = [digest for digest in found if digest not in wanted and erased(name_of(digest))]
            Artifact.objects.filter(digest__in=gone).delete()
        removed += len(gone)
        if len(found) < BATCH:
            break
        after = found[-1]
    return removed


def purge_parts(now: dt.datetime) -> int:
    """What was begun to be written to the artifacts more than a day ago: its writer has died."""
    try:
        names = [f"{PARTS}/{name}" for name in default_storage.listdir(PARTS)[1]]
    except (FileNotFoundError, NotImplementedError):  # nothing was ever written; another storage
        return 0
    return sum(_begun_before(name, now - dt.timedelta(days=1)) and erased(name) for name in names)


def _begun_before(name: str, cutoff: dt.datetime) -> bool:
    try:
        return default_storage.get_modified_time(name) < cutoff
    except FileNotFoundError:  # it is whole now
        return False


def wanted_by_live_jobs(cutoff: dt.datetime) -> set[str]:
    """Digests that jobs from before ``cutoff`` which still live brought or made, and all that schedules name.

    Later jobs have touched theirs.
    """
    live = Job.objects.filter(state__lt=JobState.SUCCEEDED, submitted_at__lt=cutoff)
    wanted = set(TaskOutput.objects.filter(job__in=live).values_list("digest", flat=True))
    wanted |= named_files(cutoff) | schedules.wanted_files()
    for rows in (MasterAsk.objects, MasterLaunch.objects):  # what masters have said since
        for spec in rows.filter(job__in=live).values_list("spec", flat=True).iterator(chunk_size=BATCH):
            wanted.update(named(spec))
    return wanted


def purge_audit(now: dt.datetime) -> int:
    """Entries of the audit log older than ``audit_days``."""
    return _oldest(AuditEntry.objects.all(), now - dt.timedelta(days=settings.HYDRA["audit_days"]))


def purge_notifications(now: dt.datetime) -> int:
    """What receivers were to be told more than ``notification_days`` ago."""
    return _oldest(Notification.objects.all(), now - dt.timedelta(days=settings.HYDRA["notification_days"]))


def purge_usage_by_tag(now: dt.datetime) -> int:
    """Days that nobody can ask for any more."""
    return UsageTag.objects.filter(day__lt=now.date() - dt.timedelta(days=DAYS_MAX + 1)).delete()[0]


def _oldest(rows: QuerySet[Any], cutoff: dt.datetime) -> int:
    """Those whose ``at`` is before; their numbers rise with time."""
    removed = 0
    for _ in range(MAX_BATCHES):
        found = rows.order_by("pk").values_list("pk", "at")[:BATCH]
        due = [pk for pk, at in found if at < cutoff]
        rows.filter(pk__in=due).delete()
        removed += len(due)
        if len(due) < BATCH:
            break
    return removed


def purge_sign_ins(now: dt.datetime) -> int:
    """Sessions of browsers and tokens of programs that have expired: nobody can use them again."""
    sessions = _in_batches(Session.objects.filter(expire_date__lt=now))
    return sessions + _in_batches(AuthToken.objects.filter(expiry__lt=now))


def purge_join_tokens(now: dt.datetime) -> int:
    """Tokens of nodes and sub-clusters that expired more than ``history_days`` ago."""
    cutoff = now - dt.timedelta(days=settings.HYDRA["history_days"])
    kinds = (JoinToken, SubClusterToken)
    return sum(_in_batches(kind.objects.filter(expires_at__lt=cutoff)) for kind in kinds)


def _in_batches(due: QuerySet[Any]) -> int:
    removed = 0
    for _ in range(MAX_BATCHES):
        found = list(due.values_list("pk", flat=True)[:BATCH])
        due.filter(pk__in=found).delete()
        removed += len(found)
        if len(found) < BATCH:
            break
    return removed


def purge_idempotency_keys(now: dt.datetime) -> int:
    return _in_batches(IdempotencyKey.objects.filter(created_at__lt=now - dt.timedelta(days=IDEMPOTENCY_DAYS)))


_DUTIES: dict[str, Callable[[dt.datetime], int]] = {
    "jobs": purge_jobs,
    "crowds": purge_crowds,
    "partitions": lambda now: len(partitions.drop_old(now.date())),
    "artifacts": purge_artifacts,
    "parts": purge_parts,
    "idempotency_keys": purge_idempotency_keys,
    "endpoints": lambda _: endpoints.purge(),
    "execs": lambda _: execs.purge(),
    "queues": purge_queues,
    "series": lambda _: series.purge(),
    "simulations": lambda _: simulations.purge(),
    "audit": purge_audit,
    "sign_ins": purge_sign_ins,
    "join_tokens": purge_join_tokens,
    "notifications": purge_notifications,
    "usage_by_tag": purge_usage_by_tag,
}
