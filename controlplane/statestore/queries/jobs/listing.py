"""Jobs as the API and the screens show them."""

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, JSONField, QuerySet
from django.db.models.expressions import RawSQL

from controlplane.accounts.models import User
from controlplane.accounts.rights import visible_jobs_q
from controlplane.statestore.models import Job, JobEvent, Node, TaskGroup
from controlplane.statestore.queries import live
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page
from controlplane.statestore.queries.sql import beginning, rows_as_dicts
from wire.resources import AXES
from wire.states import GroupState, JobState, terminal

from . import endpoints, reasons, services, veil
from .walk import Condition, Walk, in_branches, numbers, one_of

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
    "services",
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
    *AXES,
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


# What the job list's address may hold; saved views are made of the same.
FILTERS = ("state", "queue", "owner", "tag", "name", "kind", "node", "since", "until", "order")
ORDERS = {"newest": False, "oldest": True}
ROOT = "root"
_TOGETHER = 5_000  # jobs that may have been under way together
_OF_ONE_NAME = 100  # nodes, in as many sub-clusters


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Filters of the job list; ``None`` leaves one out. ``name`` matches from its beginning.

    queue: with those below it. node: a node's name, or ``sub-cluster/name``; of jobs that have containers there now.
    since, until: when it was submitted, the end not included.
    """

    states: tuple[int, ...] | None = None
    queue: str | None = None
    owner: str | None = None
    tag: str | None = None
    name: str | None = None
    kind: str | None = None
    node: str | None = None
    since: dt.datetime | None = None
    until: dt.datetime | None = None

    def terms(self, owner_id: int | None) -> list[Condition]:
        """What is asked, but for the numbers the times lead to. owner_id: of ``owner``.

        Queries where a node or a queue is asked for.
        """
        found = []
        if self.states is not None:
            found.append(one_of("state", self.states))
        if self.queue is not None and self.queue != ROOT:  # every job is below the root
            found.append(in_branches([self.queue]))
        if owner_id is not None:
            found.append(one_of("owner_id", [owner_id]))
        if self.tag is not None:
            # Jobs without tags are not in the index, and it is used where the statement says so.
            found.append(Condition("j.tags @> %s::jsonb AND j.tags <> '[]'::jsonb", (json.dumps([self.tag]),)))
        if self.name is not None:
            found.append(Condition("j.name LIKE %s", (beginning(self.name),)))
        if self.kind is not None:
            found.append(one_of("kind", [self.kind]))
        if self.node is not None:
            found.append(Condition("j.id = ANY(%s::bigint[])", (_on_node(self.node),)))
        if self.since is not None:
            found.append(Condition("j.submitted_at >= %s", (self.since,)))
        if self.until is not None:
            found.append(Condition("j.submitted_at < %s", (self.until,)))
        return found

    def bounds(self) -> tuple[int | None, int | None]:
        """Numbers between which all jobs of the time asked for lie, so that no list walks past them. Up to two queries.

        Numbers rise with the time of submission but for submits that were
        under way together: the jobs nearest to each end are looked at.
        """
        low = high = None
        if self.since is not None:
            after = Job.objects.filter(submitted_at__gte=self.since).order_by("submitted_at")
            low = min(after.values_list("id", flat=True)[:_TOGETHER], default=2**63 - 1)
        if self.until is not None:
            before = Job.objects.filter(submitted_at__lt=self.until).order_by("-submitted_at")
            high = max(before.values_list("id", flat=True)[:_TOGETHER], default=0)
        return low, high


def list_page(user: User, where: JobFilter, at: Cursor, size: int, oldest: bool = False) -> Page:
    """One page of the jobs ``user`` may see, newest or oldest first; a few bounded queries."""
    return page_of(user, visible_ids(user, where, at, size, oldest), at, size)


def page_of(user: User, ids: Sequence[int], at: Cursor, size: int) -> Page:
    """The page of these jobs, as ``visible_ids`` found them. Two queries."""
    by_id = {job["id"]: job for job in _rows(Job.objects.filter(pk__in=ids))}
    rows = [by_id[i] for i in ids if i in by_id]
    return page(veil.jobs(user, as_json(rows)), [(row["id"],) for row in rows], size, at)


def visible_ids(user: User, where: JobFilter, at: Cursor, size: int, oldest: bool) -> list[int]:
    """Ids of up to ``size + 1`` jobs from ``at`` on."""
    owner = None
    if where.owner is not None:
        owner = User.objects.filter(username=where.owner).values_list("pk", flat=True).first()
        if owner is None:
            return []
    walk = Walk(at, at.back != oldest, size + 1, *where.bounds())
    return numbers(user, where.terms(owner), walk, where.queue, owner)


def _on_node(node: str) -> list[int]:
    """Jobs that have containers there now. A query, and one for each node of that name."""
    place, _, name = node.rpartition("/")
    nodes = Node.objects.filter(name=name, **({"sub_cluster__name": place} if place else {})).order_by("pk")
    places = nodes.values_list("sub_cluster_id", "pk")[:_OF_ONE_NAME]
    return sorted({job for at in places for job in live.on_node(*at).values_list("job_id", flat=True)})


def _rows(jobs: "QuerySet[Job]") -> Iterable[dict[str, Any]]:
    return jobs.annotate(owner_name=F("owner__username"), home_name=F("home__name"), afters=_AFTERS).values(*COLUMNS)


def as_json(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Job JSON for rows of ``COLUMNS``. One query, for the groups of all of them."""
    groups: dict[int, list[dict[str, Any]]] = {row["id"]: [] for row in rows}
    for group in TaskGroup.objects.filter(job_id__in=groups).order_by("job_id", "no").values(*GROUP_COLUMNS):
        groups[group["job_id"]].append(group)
    return [reasons.complete(_job(row, groups[row["id"]])) for row in rows]


def _job(row: dict[str, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    afters = dict(enumerate(row["afters"] or []))  # groups that a master asked for wait for none
    under_way = None if terminal(row["state"]) else row["services"]
    shown = [
        _group(g, afters.get(g["no"], [])) | {"restarting": services.restarting(under_way, g["no"])} for g in groups
    ]
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
        "resources": {axis: g[axis] for axis in AXES},
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
    return Job.objects.defer("spec", "revisions").filter(visible_jobs_q(user), pk=job_id).first()


def find_many(user: User, ids: Sequence[int]) -> dict[int, Job]:
    """Of these jobs the rows that ``user`` may see, by number. One query, two for tenants."""
    found = Job.objects.defer("spec", "revisions").filter(visible_jobs_q(user), pk__in=ids)
    return {job.pk: job for job in found}


def partitions(job_id: int) -> set[str | None]:
    """Partitions that the job's groups, or its master's declaration, name; ``None``: its queue's own. One query."""
    sql = """
SELECT jsonb_path_query_array(spec, '$.groups[*].partition')
    || jsonb_path_query_array(spec, '$.master.container.partition') AS named FROM statestore_job WHERE id = %(job)s"""
    rows = rows_as_dicts(sql, {"job": job_id})
    named = rows[0]["named"] if rows else []
    return set(json.loads(named) if isinstance(named, str) else named) or {None}


def detail(user: User, job_id: int) -> dict[str, Any] | None:
    """Job JSON with its spec, or ``None`` when there is none that ``user`` may see. Two queries, three for tenants."""
    if not 0 < job_id < 2**63:
        return None
    rows = Job.objects.filter(visible_jobs_q(user), pk=job_id).annotate(
        owner_name=F("owner__username"), home_name=F("home__name"), afters=_AFTERS
    )
    row = rows.values(
        *COLUMNS,
        "spec",
        "scheduled__at",
        "scheduled__schedule_id",
        "scheduled__schedule__name",
        page=F("application_master__tracking"),
    ).first()
    if row is None:
        return None
    page = None if terminal(row["state"]) else endpoints.tracked(job_id, row["page"])
    shown = veil.jobs(user, as_json([row]))[0]
    more = {"spec": services.as_scaled(row["spec"], row["services"]), "tracking": page, "schedule": _schedule(row)}
    return shown | more | services.rollout(row["services"], shown["groups"], terminal(row["state"]))


def _schedule(row: dict[str, Any]) -> dict[str, Any] | None:
    """Which schedule started the job, for what time."""
    if row["scheduled__schedule_id"] is None:
        return None
    known = {"id": row["scheduled__schedule_id"], "name": row["scheduled__schedule__name"]}
    return known | {"at": row["scheduled__at"]}


def events(job: Job, at: Cursor, size: int, newest_first: bool = False) -> Page:
    """What the job's owner was told, oldest first unless asked otherwise."""
    found = JobEvent.objects.filter(job_id=job.pk).values("id", "at", "kind", "message")
    rows = by_number(found, at, size, newest_first)
    return page(rows, [(row["id"],) for row in rows], size, at)
