"""What is asked of services while they run. Their homes carry it out, and say what came of it among the events."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from contract.problems import FieldError
from controlplane.statestore.actions import jobs
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.actions.jobs import Change
from controlplane.statestore.actions.keeping import keep_named, named
from controlplane.statestore.errors import Conflict, Invalid, Stale
from controlplane.statestore.models import Intent, Job
from controlplane.statestore.queries.jobs import services
from scheduler.lifecycle.restarting import runs
from wire.counts import counted

_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('updates'), hashint8(%s))"  # of a job


def scale(actor: Actor, job: Job, group: str, count: int, by: str, claim: Callable[[int], None] | None = None) -> None:
    """Ask for so many tasks of a group. What was asked last holds, in whichever order requests arrive.

    claim: told how many tasks more it would have; raises where those may not be.
    """
    groups = _groups(job)
    no, before = _one(groups, group)
    if Job.objects.filter(pk=job.pk).values_list(f"spec__groups__{no}__array", flat=True).get():
        wrong = FieldError("group", f"each task of {group} has its row of an array", "submit another job")
        raise Invalid("a group with an array keeps its number of tasks", [wrong])
    most = int(settings.HYDRA["max_tasks_per_job"])
    others = sum(tasks for name, (_, tasks) in groups.items() if name != group)
    if count + others > most:
        many = f"makes {count + others:,} tasks of the job, at most {most:,} are allowed"
        raise Invalid("the job would be too large", [FieldError("count", many, f"ask for at most {most - others:,}")])
    if claim and count > before:
        claim(count - before)
    asked = {"group": no, "count": count, "asked_us": _now_us(), "by": by}
    jobs.change(actor, [Change(job, Intent.Kind.SCALE, asked, {"count": before})])


def restart(actor: Actor, job: Job, group: str | None, index: int | None, by: str) -> None:
    """Ask for the end of what runs of a task at once, or of all tasks of a group, or of all, one after the other; and
    of the pauses of those that wait since they failed."""
    groups, said = _groups(job), job.services or {}
    if index is not None and group is None:
        raise Invalid("the request has errors", [FieldError("group", "is missing", "say which group the task is of")])
    chosen = groups if group is None else {group: _one(groups, group)}
    if index is None and said.get("rollout"):
        now = f"revision {said['revision']} of job {job.pk} is still being rolled out"
        raise Conflict(f"{now}, and no whole group is restarted meanwhile; wait for it, or name one task")
    if index is not None and index >= (count := chosen[f"{group}"][1]):
        wrong = FieldError(
            "index", f"{group} has {counted(count, 'task')}, and none of index {index}", f"name one of 0 to {count - 1}"
        )
        raise Invalid("there is no such task", [wrong])
    changes = [
        Change(
            job, Intent.Kind.RESTART,
            {"group": no, "attempts": runs(found), "one_by_one": index is None, "by": by},
            told={"group": no, "index": index, "by": by},  # attempts may be many
        )
        for no, _ in chosen.values()
        if (found := _last(job, no, index))
    ]  # fmt: skip
    if not changes:
        raise Conflict("nothing of it runs now; what waits to start needs no restart")
    jobs.change(actor, changes)


def _last(job: Job, group_no: int, task: int | None) -> list[tuple[int, int]]:
    """The attempts of what runs of the group, or of this task of it, and the last ones of what may pause. Two queries,
    in an order in which nothing is missed that ends between them."""
    live = dict(services.live(job, group_no, task))
    return sorted((dict(services.pausing(job, group_no, task)) | live).items())


def update(actor: Actor, job: Job, asked: dict[str, Any]) -> None:
    """Ask for another specification. asked: as ``rm.steps.revisions.update`` takes it, as well checked as a submit."""
    told = {name: value for name, value in asked.items() if name not in {"spec", "changes"}}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_ONE_AT_A_TIME, [job.pk])
        refuse_update(job, asked["revision"], asked["back"])
        keep_named(job.owner_id, named(asked["spec"]))
        jobs.change(actor, [Change(job, Intent.Kind.UPDATE, asked, {"revision": asked["revision"]}, told)])


def refuse_update(job: Job, revision: int, back: int | None = None) -> None:
    """``Stale`` or ``Conflict`` where another revision is in force, or another update is under way or asked for."""
    refuse_others(job)
    said = job.services or {}
    now, going = said.get("revision", 1), said.get("rollout")
    if revision != now:
        raise Stale(f"revision {now} of job {job.pk} is in force by now, not {revision}; look at it and ask again")
    if going is not None and back != going["previous"]:
        remedy = f"wait for it, or roll back to {going['previous']} first"
        raise Conflict(f"revision {now} of job {job.pk} is still being rolled out; {remedy}")
    if _asked_for(job):
        text = f"job {job.pk} is to be updated already, and its home has not begun yet; ask again when it has"
        raise Conflict(text)


def settled(job: Job, revision: int) -> bool:
    """Whether this revision is in force, and no update is under way or asked for."""
    said = job.services or {}
    return revision == said.get("revision", 1) and said.get("rollout") is None and not _asked_for(job)


def _asked_for(job: Job) -> bool:
    """Whether its home is still to begin an update."""
    return Intent.objects.filter(sub_cluster_id=job.home_id, job_id=job.pk, kind=Intent.Kind.UPDATE).exists()


def refuse_others(job: Job) -> None:
    """``Conflict`` unless the job is a service that has not ended."""
    if why := jobs.refusal(job):
        raise Conflict(why)
    if job.kind != Job.Kind.SERVICE:
        raise Conflict(f"job {job.pk} is of kind {job.kind}; only services are changed while they run")


def _groups(job: Job) -> dict[str, tuple[int, int]]:
    refuse_others(job)
    return services.groups(job)


def _one(groups: dict[str, tuple[int, int]], name: str) -> tuple[int, int]:
    found = groups.get(name)
    if found is None:
        remedy = f"name one of {', '.join(groups)}"[:300]
        raise Invalid("there is no such group", [FieldError("group", f"the job has no group {name!r}", remedy)])
    return found


def _now_us() -> int:
    """The database's clock, by which what was asked last is known: microseconds since 1970."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint")
        return int(cursor.fetchone()[0])
