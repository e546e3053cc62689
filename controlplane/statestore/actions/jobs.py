"""Submit, kill, reprioritise and move jobs.

A submit is one statement however many jobs it carries: jobs, task groups,
intents, why each got its home, what it was warned of, and the audit row go in
together, so that one job costs one round trip and a thousand cost little more.
From then on the home RM alone writes the rows; everything later is asked of it with an ``Intent``.
"""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction

from controlplane import events
from controlplane.statestore import bus
from controlplane.statestore.errors import Conflict, Invalid, Unavailable
from controlplane.statestore.models import AuditEntry, IdempotencyKey, Intent, Job
from controlplane.statestore.resourcecolumns import per_axis
from wire.resources import AXES, Amounts
from wire.states import ExecutionType, GroupState, JobState, terminal

from .audit import Actor

MAX_BULK = 1000


@dataclass(frozen=True, slots=True)
class NewGroup:
    name: str
    count: int
    resources: Amounts
    opportunistic: bool
    waits: bool  # names groups in ``after``


@dataclass(frozen=True, slots=True)
class NewJob:
    """A validated submission with its home chosen. ``spec`` and ``tags`` are JSON texts; ``routed``: why that home.

    warned: what keeps it from ever starting, by the nodes there are.
    of_all: bytes of the files that all groups have, which stand in ``spec`` once. files: digests that it names.
    """

    name: str
    kind: str
    queue: str
    priority: int
    tags: str
    spec: str
    home_id: int
    groups: tuple[NewGroup, ...]
    retry_of: int | None = None  # the ended job it repeats
    routed: str = ""
    warned: str = ""
    of_all: int = 0
    files: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the templates of its groups, about: each says what the job says of all."""
        return len(self.spec.encode()) + max(0, len(self.groups) - 1) * self.of_all

    @property
    def tasks(self) -> int:
        """Of all groups."""
        return sum(group.count for group in self.groups)


@dataclass(frozen=True, slots=True)
class Once:
    """An Idempotency-Key, and the SHA-256 of the request that carries it."""

    key: str
    request_sha256: str


Respond = Callable[[list[int], dt.datetime], dict[str, Any]]

# The rows travel as JSON texts: arrays of a thousand specs would be quoted element by element in Python.
# All go in or none: locking the homes meets a decommission that is under way, and sees what it left; locking the
# artifacts meets who deletes them. An operator names such as were nobody's of his, and keeps them from then on.
_INSERT = f"""
WITH home AS MATERIALIZED (
    SELECT id FROM statestore_subcluster WHERE id = ANY(%(homes)s) AND state <> 'decommissioned' FOR KEY SHARE
), file AS MATERIALIZED (
    SELECT digest, size FROM statestore_artifact WHERE digest = ANY(%(files)s::text[]) ORDER BY digest FOR KEY SHARE
), kept AS (
    INSERT INTO statestore_artifactowner (artifact_id, owner_id, size)
    SELECT digest, %(owner)s, size FROM file ON CONFLICT DO NOTHING
), new AS MATERIALIZED (
    SELECT n.*, nextval(pg_get_serial_sequence('statestore_job', 'id')) AS id
      FROM json_to_recordset(%(jobs)s::json)
           AS n(ord int, name text, kind text, queue text, priority smallint, tags jsonb, spec jsonb, spec_bytes int,
                task_count int, home smallint, retry_of bigint, routed text, warned text)
     WHERE (SELECT count(*) FROM home) = cardinality(%(homes)s)
       AND (SELECT count(*) FROM file) = cardinality(%(files)s::text[])
), job AS (
    INSERT INTO statestore_job (id, name, kind, queue, owner_id, priority, tags, spec, spec_bytes, task_count,
                                home_id, submitted_at, state, message, epoch, retry_of_id)
    SELECT id, name, kind, queue, %(owner)s, priority, tags, spec, spec_bytes, task_count, home, now(),
           %(submitted)s, '', 0, retry_of
      FROM new
), task_group AS (
    INSERT INTO statestore_taskgroup (job_id, no, name, count, {per_axis("{0}")}, execution_type, state,
                                      running, succeeded, failed, killed, retried)
    SELECT new.id, g.no, g.name, g.count, {per_axis("g.{0}")}, g.execution_type, g.state, 0, 0, 0, 0, 0
      FROM json_to_recordset(%(groups)s::json)
           AS g(ord int, no smallint, name text, count int, {per_axis("{0} bigint")},
                execution_type smallint, state smallint)
      JOIN new USING (ord)
), intent AS (
    INSERT INTO statestore_intent (sub_cluster_id, kind, job_id, payload, created_at)
    SELECT home, 'submit', id, '{{}}'::jsonb, now() FROM new ORDER BY ord
), event AS (
    INSERT INTO statestore_jobevent (job_id, at, kind, message)
    SELECT id, now(), e.kind, e.message
      FROM new, LATERAL (VALUES (0, 'routed', routed), (1, 'warned', warned)) AS e(nth, kind, message)
     WHERE e.message <> '' ORDER BY ord, nth
), audit AS (
    INSERT INTO statestore_auditentry (at, actor_id, action, target, after, address)
    SELECT now(), %(owner)s, 'job.submit',
           CASE WHEN count(*) = 1 THEN 'job/' || min(id) ELSE 'job/' || min(id) || '..' || max(id) END,
           jsonb_build_object('jobs', count(*)), %(address)s::inet
      FROM new HAVING count(*) > 0
)
SELECT id, now() FROM new ORDER BY ord
"""


def _values(actor: Actor, jobs: Sequence[NewJob]) -> dict[str, Any]:
    """The statement's parameters. ``spec`` and ``tags`` are JSON already and go in as they are."""
    rows = []
    groups = []
    for ord_, job in enumerate(jobs):
        head = {
            "ord": ord_,
            "name": job.name,
            "kind": job.kind,
            "queue": job.queue,
            "priority": job.priority,
            "home": job.home_id,
            "retry_of": job.retry_of,
            "spec_bytes": job.size,
            "task_count": job.tasks,
            "routed": job.routed,
            "warned": job.warned,
        }
        rows.append(f'{json.dumps(head)[:-1]}, "tags": {job.tags}, "spec": {job.spec}}}')
        groups += [_group_row(ord_, no, group) for no, group in enumerate(job.groups)]
    return {
        "homes": sorted({job.home_id for job in jobs}),
        "files": sorted({digest for job in jobs for digest in job.files}),
        "owner": actor.user_id,
        "address": actor.address,
        "submitted": int(JobState.SUBMITTED),
        "jobs": f"[{','.join(rows)}]",
        "groups": json.dumps(groups),
    }


def _group_row(ord_: int, no: int, group: NewGroup) -> dict[str, Any]:
    return {
        "ord": ord_,
        "no": no,
        "name": group.name,
        "count": group.count,
        **dict(zip(AXES, group.resources, strict=True)),
        "execution_type": int(ExecutionType.OPPORTUNISTIC if group.opportunistic else ExecutionType.GUARANTEED),
        "state": int(GroupState.WAITING if group.waits else GroupState.PENDING),
    }


def _insert(actor: Actor, jobs: Sequence[NewJob]) -> tuple[list[int], dt.datetime]:
    owner = actor.user_id
    assert owner is not None, "every job has an owner"
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, _values(actor, jobs))
        rows = cursor.fetchall()
    if jobs and not rows:
        raise Unavailable(
            "the sub-cluster chosen for this, or a file that it names, has just gone; submit it again", retry_after_s=1
        )
    homes = {j.home_id for j in jobs}
    ids, moments = [number for number, _ in rows], [at for _, at in rows]
    transaction.on_commit(lambda: _tell(homes, dict.fromkeys(ids, owner)))
    return ids, moments[0]


def _tell(homes: set[int], owners: dict[int, int]) -> None:
    bus.wake(homes)
    events.job_changed(owners)


def earlier_answer(user_id: int, once: Once) -> dict[str, Any] | None:
    """What the first request with this key was answered; ``Invalid`` when that was another request."""
    first = IdempotencyKey.objects.filter(owner_id=user_id, key=once.key).first()
    if first is None:
        return None
    if first.request_sha256 != once.request_sha256:
        raise Invalid("this Idempotency-Key was used with another request; use a new key for a new request")
    answer: dict[str, Any] = first.response
    return answer


def submit(actor: Actor, jobs: Sequence[NewJob], respond: Respond, once: Once | None = None) -> dict[str, Any]:
    """Store all the jobs or none, and return ``respond(ids, submitted_at)``, or the first answer to the same key."""
    if once is None:
        return respond(*_insert(actor, jobs))
    assert actor.user_id is not None
    try:
        with transaction.atomic():
            answer = respond(*_insert(actor, jobs))
            IdempotencyKey.objects.create(
                owner_id=actor.user_id, key=once.key, request_sha256=once.request_sha256, response=answer
            )
        return answer
    except IntegrityError:  # the same key at the same moment: the other one won
        first = earlier_answer(actor.user_id, once)
        if first is None:
            raise
        return first


def killed_by(name: str, why: str = "") -> str:
    """What a job says that somebody killed."""
    return f"killed by {name}: {why}" if why else f"killed by {name}"


def kill(actor: Actor, job: Job, message: str) -> None:
    """Ask the home RM to stop the job; asking twice changes nothing."""
    change(actor, [Change(job, Intent.Kind.KILL, {"message": message})])


def set_priority(actor: Actor, job: Job, priority: int) -> None:
    """Ask the home RM to move the job within its queue."""
    change(actor, [Change(job, Intent.Kind.PRIORITY, {"priority": priority}, {"priority": job.priority})])


def move(actor: Actor, job: Job, queue: str) -> None:
    """Ask the home RM to put the job into another queue. Only it knows whether there is room for one job more."""
    change(actor, [Change(job, Intent.Kind.MOVE, {"queue": queue}, {"queue": job.queue})])


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of one job. ``payload``: of the intent; ``before``: what it changes. ``told``: what the audit
    log says of it, where that is less than the payload."""

    job: Job
    kind: Intent.Kind
    payload: dict[str, Any]
    before: dict[str, Any] | None = None
    told: dict[str, Any] | None = None


def refusal(job: Job) -> str:
    """Why nothing of the job can be changed any more, or nothing."""
    return f"job {job.pk} has ended already: {JobState(job.state).name}" if terminal(job.state) else ""


def change(actor: Actor, changes: Sequence[Change]) -> None:
    """Ask the homes of these jobs for changes, all in one transaction of two statements."""
    for each in changes:
        if why := refusal(each.job):
            raise Conflict(why)
    with transaction.atomic():
        AuditEntry.objects.bulk_create(
            AuditEntry(
                actor_id=actor.user_id,
                action=f"job.{each.kind.value}",
                target=f"job/{each.job.pk}",
                before=each.before,
                after=each.told or each.payload or None,
                address=actor.address,
            )
            for each in changes
        )
        Intent.objects.bulk_create(
            Intent(sub_cluster_id=each.job.home_id, kind=each.kind, job_id=each.job.pk, payload=each.payload)
            for each in changes
        )
        owners = {each.job.pk: each.job.owner_id for each in changes}
        transaction.on_commit(lambda: _tell({each.job.home_id for each in changes}, owners))
