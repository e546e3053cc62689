"""Jobs as the API and the screens show them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, JSONField, QuerySet
from django.db.models.expressions import RawSQL

from controlplane.accounts.models import User
from controlplane.accounts.rights import visible_jobs, visible_jobs_q
from controlplane.statestore.models import Job, JobEvent, TaskGroup
from wire.states import GroupState, JobState, terminal

from . import reasons
from .paging import Cursor, Page, page

COLUMNS = (
    "id",
    "name",
    "kind",
    "queue",
    "owner_name",
    "priority",
    "tags",
    "state",
    "message",
    "home_name",
    "submitted_at",
    "admitted_at",
    "started_at",
    "finished_at",
    "retry_of_id",
    "afters",
)
GROUP_COLUMNS = (
    "job_id",
    "no",
    "name",
    "count",
    "state",
    "running",
    "succeeded",
    "failed",
    "killed",
    "retried",
    "memory_mib",
    "vcores_milli",
    "gpus",
    "reason",
    "started_at",
    "finished_at",
)
_AFTERS = RawSQL("jsonb_path_query_array(statestore_job.spec, '$.groups[*].after')", [], output_field=JSONField())


# What a filter may name -> the states it means.
STATES = {state.name: (int(state),) for state in JobState} | {
    "live": tuple(int(state) for state in JobState if not terminal(state)),
    "ended": tuple(int(state) for state in JobState if terminal(state)),
}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Filters of the job list; ``None`` leaves one out. ``name`` matches from its beginning."""

    states: tuple[int, ...] | None = None
    queue: str | None = None
    owner: str | None = None
    tag: str | None = None
    name: str | None = None
    kind: str | None = None

    def apply(self, jobs: "QuerySet[Job]") -> "QuerySet[Job]":
        if self.states is not None:
            jobs = jobs.filter(state__in=self.states)
        if self.queue is not None:
            jobs = jobs.filter(queue=self.queue)
        if self.owner is not None:
            jobs = jobs.filter(owner__username=self.owner)
        if self.tag is not None:
            jobs = jobs.filter(tags__contains=[self.tag])
        if self.name is not None:
            jobs = jobs.filter(name__startswith=self.name)
        if self.kind is not None:
            jobs = jobs.filter(kind=self.kind)
        return jobs


def list_page(user: User, where: JobFilter, at: Cursor, size: int) -> Page:
    """One page of the jobs ``user`` may see, newest first. Three queries."""
    ids = _visible_ids(user, where, at, size)
    by_id = {job["id"]: job for job in _rows(Job.objects.filter(pk__in=ids))}
    rows = [by_id[i] for i in ids if i in by_id]
    return page(as_json(rows), [(row["id"],) for row in rows], size, at)


def _visible_ids(user: User, where: JobFilter, at: Cursor, size: int) -> list[int]:
    """Ids of up to ``size + 1`` jobs from ``at`` on. Each right is a branch with its own index and limit."""
    branches = []
    for right in visible_jobs(user):
        jobs = where.apply(Job.objects.filter(**right))
        if at.key:
            jobs = jobs.filter(id__gt=at.key[0]) if at.back else jobs.filter(id__lt=at.key[0])
        branches.append(jobs.order_by("id" if at.back else "-id").values_list("id", flat=True)[: size + 1])
    if not branches:
        return []
    found = branches[0].union(*branches[1:]) if len(branches) > 1 else branches[0]
    return sorted(found, reverse=not at.back)[: size + 1]


def _rows(jobs: "QuerySet[Job]") -> Iterable[dict[str, Any]]:
    return jobs.annotate(owner_name=F("owner__username"), home_name=F("home__name"), afters=_AFTERS).values(*COLUMNS)


def as_json(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Job JSON for rows of ``COLUMNS``. One query, for the groups of all of them."""
    groups: dict[int, list[dict[str, Any]]] = {row["id"]: [] for row in rows}
    for group in TaskGroup.objects.filter(job_id__in=groups).order_by("job_id", "no").values(*GROUP_COLUMNS):
        groups[group["job_id"]].append(group)
    return [reasons.complete(_job(row, groups[row["id"]])) for row in rows]


def _job(row: dict[str, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    shown = [_group(g, after) for g, after in zip(groups, row["afters"] or [], strict=False)]
    return {
        "id": row["id"],
        "name": row["name"],
        "kind": row["kind"],
        "queue": row["queue"],
        "owner": row["owner_name"],
        "priority": row["priority"],
        "tags": row["tags"],
        "state": JobState(row["state"]).name,
        "message": row["message"],
        "home": row["home_name"],
        "submitted_at": row["submitted_at"],
        "admitted_at": row["admitted_at"],
        "started_at": row["started_at"],
        "finished_at": row["finished_at"],
        "retry_of": row["retry_of_id"],
        "groups": shown,
        "waiting": waiting(row["state"], row["home_name"], shown),
    }


def _group(g: dict[str, Any], after: list[str]) -> dict[str, Any]:
    ended = g["succeeded"] + g["failed"] + g["killed"]
    left = 0 if terminal(g["state"]) else max(0, g["count"] - ended - g["running"])
    return {
        "no": g["no"],
        "name": g["name"],
        "count": g["count"],
        "state": GroupState(g["state"]).name,
        "pending": left,
        "running": g["running"],
        "succeeded": g["succeeded"],
        "failed": g["failed"],
        "killed": g["killed"],
        "retried": g["retried"],
        "resources": {"memory_mib": g["memory_mib"], "vcores_milli": g["vcores_milli"], "gpus": g["gpus"]},
        "after": after,
        "reason": g["reason"],
        "started_at": g["started_at"],
        "finished_at": g["finished_at"],
    }


def waiting(state: int, home: str, groups: Iterable[dict[str, Any]]) -> str | None:
    """One line on why the job does not go on by itself, or ``None``."""
    if terminal(state):
        return None
    for group in groups:
        reason = group["reason"]
        if reason and group["pending"]:
            text: str = reason.get("text", reason.get("code", "waiting"))
            return text if state == JobState.SUBMITTED else f"{group['name']}: {text}"
    return f"the resource manager of {home} has not taken it in yet" if state == JobState.SUBMITTED else None


def find(user: User, job_id: int) -> Job | None:
    """The job's row if ``user`` may see it."""
    if not 0 < job_id < 2**63:
        return None
    return Job.objects.defer("spec").filter(visible_jobs_q(user), pk=job_id).first()


def detail(user: User, job_id: int) -> dict[str, Any] | None:
    """Job JSON with its spec, or ``None`` when there is none that ``user`` may see. Two queries, three for tenants."""
    if not 0 < job_id < 2**63:
        return None
    rows = Job.objects.filter(visible_jobs_q(user), pk=job_id).annotate(
        owner_name=F("owner__username"), home_name=F("home__name"), afters=_AFTERS
    )
    row = rows.values(*COLUMNS, "spec").first()
    return None if row is None else as_json([row])[0] | {"spec": row["spec"]}


def events(job: Job, at: Cursor, size: int) -> Page:
    """What the job's owner was told, oldest first."""
    found = JobEvent.objects.filter(job_id=job.pk).order_by("-id" if at.back else "id")
    if at.key:
        found = found.filter(id__lt=at.key[0]) if at.back else found.filter(id__gt=at.key[0])
    rows = list(found.values("id", "at", "kind", "message")[: size + 1])
    return page(rows, [(row["id"],) for row in rows], size, at)
