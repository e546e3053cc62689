"""Submit, kill, retry and reprioritise jobs.

A submit is one statement however many jobs it carries: jobs, task groups,
intents and the audit row go in together, so that one job costs one round trip
and a thousand cost little more. From then on the home RM alone writes the
rows; everything later is asked of it with an ``Intent``.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction

from controlplane import events
from controlplane.statestore import bus
from controlplane.statestore.models import IdempotencyKey, Intent, Job
from wire.states import ExecutionType, GroupState, JobState, terminal

from .audit import Actor, record
from .errors import Conflict, Invalid

MAX_BULK = 1000


@dataclass(frozen=True, slots=True)
class NewGroup:
    name: str
    count: int
    memory_mib: int
    vcores_milli: int
    gpus: int
    opportunistic: bool
    waits: bool  # names groups in ``after``


@dataclass(frozen=True, slots=True)
class NewJob:
    """A validated submission with its home chosen. ``spec`` and ``tags`` are JSON texts."""

    name: str
    kind: str
    queue: str
    priority: int
    tags: str
    spec: str
    home_id: int
    groups: tuple[NewGroup, ...]


@dataclass(frozen=True, slots=True)
class Once:
    """An Idempotency-Key, and the SHA-256 of the request that carries it."""

    key: str
    request_sha256: str


Respond = Callable[[list[int], dt.datetime], dict[str, Any]]

_INSERT = """
WITH new AS MATERIALIZED (
    SELECT n.*, nextval(pg_get_serial_sequence('statestore_job', 'id')) AS id
      FROM unnest(%(name)s::text[], %(kind)s::text[], %(queue)s::text[], %(priority)s::smallint[], %(tags)s::text[],
                  %(spec)s::text[], %(home)s::smallint[])
           WITH ORDINALITY AS n(name, kind, queue, priority, tags, spec, home, ord)
), job AS (
    INSERT INTO statestore_job (id, name, kind, queue, owner_id, priority, tags, spec, home_id, submitted_at, state,
                                message, epoch)
    SELECT id, name, kind, queue, %(owner)s, priority, tags::jsonb, spec::jsonb, home, now(), %(submitted)s, '', 0
      FROM new
), task_group AS (
    INSERT INTO statestore_taskgroup (job_id, no, name, count, memory_mib, vcores_milli, gpus, execution_type, state,
                                      running, succeeded, failed, killed, retried)
    SELECT new.id, g.no, g.name, g.count, g.memory_mib, g.vcores_milli, g.gpus, g.execution_type, g.state, 0, 0, 0, 0, 0
      FROM unnest(%(g_ord)s::bigint[], %(g_no)s::smallint[], %(g_name)s::text[], %(g_count)s::int[],
                  %(g_memory)s::bigint[], %(g_vcores)s::bigint[], %(g_gpus)s::smallint[], %(g_type)s::smallint[],
                  %(g_state)s::smallint[])
           AS g(ord, no, name, count, memory_mib, vcores_milli, gpus, execution_type, state)
      JOIN new USING (ord)
), intent AS (
    INSERT INTO statestore_intent (sub_cluster_id, kind, job_id, payload, created_at)
    SELECT home, 'submit', id, '{}'::jsonb, now() FROM new ORDER BY ord
), audit AS (
    INSERT INTO statestore_auditentry (at, actor_id, action, target, after, address)
    SELECT now(), %(owner)s, 'job.submit',
           CASE WHEN count(*) = 1 THEN 'job/' || min(id) ELSE 'job/' || min(id) || '..' || max(id) END,
           jsonb_build_object('jobs', count(*)), %(address)s::inet
      FROM new
)
SELECT id, now() FROM new ORDER BY ord
"""


def _columns(actor: Actor, jobs: Sequence[NewJob]) -> dict[str, Any]:
    """The statement's parameters: one list per column."""
    groups = [(ord_, no, g) for ord_, job in enumerate(jobs, 1) for no, g in enumerate(job.groups)]
    return {
        "owner": actor.user_id,
        "address": actor.address,
        "submitted": int(JobState.SUBMITTED),
        "name": [j.name for j in jobs],
        "kind": [j.kind for j in jobs],
        "queue": [j.queue for j in jobs],
        "priority": [j.priority for j in jobs],
        "tags": [j.tags for j in jobs],
        "spec": [j.spec for j in jobs],
        "home": [j.home_id for j in jobs],
        "g_ord": [o for o, _, _ in groups],
        "g_no": [no for _, no, _ in groups],
        "g_name": [g.name for _, _, g in groups],
        "g_count": [g.count for _, _, g in groups],
        "g_memory": [g.memory_mib for _, _, g in groups],
        "g_vcores": [g.vcores_milli for _, _, g in groups],
        "g_gpus": [g.gpus for _, _, g in groups],
        "g_type": [int(ExecutionType.OPPORTUNISTIC if g.opportunistic else 0) for _, _, g in groups],
        "g_state": [int(GroupState.WAITING if g.waits else GroupState.PENDING) for _, _, g in groups],
    }


def _insert(actor: Actor, jobs: Sequence[NewJob]) -> tuple[list[int], dt.datetime]:
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, _columns(actor, jobs))
        rows = cursor.fetchall()
    homes = {j.home_id for j in jobs}
    ids = [row[0] for row in rows]
    transaction.on_commit(lambda: _tell(homes, ids))
    return ids, rows[0][1]


def _tell(homes: set[int], ids: Sequence[int]) -> None:
    bus.wake(homes)
    events.job_changed(ids)


def earlier_answer(user_id: int, once: Once) -> dict[str, Any] | None:
    """What the first request with this key was answered; ``Invalid`` when that was another request."""
    row = (
        IdempotencyKey.objects.filter(owner_id=user_id, key=once.key).values_list("request_sha256", "response").first()
    )
    if row is None:
        return None
    if row[0] != once.request_sha256:
        raise Invalid("this Idempotency-Key was used with another request; use a new key for a new request")
    answer: dict[str, Any] = row[1]
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


def _ask(actor: Actor, job: Job, kind: Intent.Kind, payload: dict[str, Any], before: Any = None) -> None:
    with transaction.atomic():
        record(actor, f"job.{kind.value}", f"job/{job.pk}", before=before, after=payload or None)
        Intent.objects.create(sub_cluster_id=job.home_id, kind=kind, job_id=job.pk, payload=payload)
        transaction.on_commit(lambda: _tell({job.home_id}, [job.pk]))


def kill(actor: Actor, job: Job, message: str) -> None:
    """Ask the home RM to stop the job; asking twice changes nothing."""
    if terminal(job.state):
        raise Conflict(f"job {job.pk} has ended already: {JobState(job.state).name}")
    _ask(actor, job, Intent.Kind.KILL, {"message": message})


def retry(actor: Actor, job: Job) -> None:
    """Ask the home RM to run the failed and killed tasks of an ended job again."""
    if job.state not in (JobState.FAILED, JobState.KILLED):
        state = JobState(job.state).name
        raise Conflict(f"job {job.pk} is {state}; only a FAILED or KILLED job can be retried")
    _ask(actor, job, Intent.Kind.RETRY, {})


def set_priority(actor: Actor, job: Job, priority: int) -> None:
    """Ask the home RM to move the job within its queue."""
    if terminal(job.state):
        raise Conflict(f"job {job.pk} has ended already: {JobState(job.state).name}")
    _ask(actor, job, Intent.Kind.PRIORITY, {"priority": priority}, before={"priority": job.priority})


def kill_many(actor: Actor, jobs: Sequence[Job], message: str) -> int:
    """Kill several jobs in one transaction; those that have ended are left alone. How many were asked for."""
    live = [job for job in jobs if not terminal(job.state)]
    with transaction.atomic():
        Intent.objects.bulk_create(
            [Intent(sub_cluster_id=j.home_id, kind=Intent.Kind.KILL, job=j, payload={"message": message}) for j in live]
        )
        record(actor, "job.kill", "jobs", after={"jobs": [j.pk for j in live][:1000], "message": message})
        transaction.on_commit(lambda: _tell({j.home_id for j in live}, [j.pk for j in live]))
    return len(live)


def forget_answers(older_than: dt.datetime) -> int:
    """Remove idempotency keys from before ``older_than``; how many."""
    return IdempotencyKey.objects.filter(created_at__lt=older_than).delete()[0]
