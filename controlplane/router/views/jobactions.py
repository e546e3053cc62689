"""What is done with jobs that are there: another queue, many at once; and what a submit would say."""

from dataclasses import asdict
from typing import Any

import rules
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.jobs import ActionsAnswer, ActionsRequest, JobChecked, JobDetail, MoveRequest
from contract.jobspec import JobRequest
from contract.problems import FieldError
from controlplane.accounts import writes
from controlplane.accounts.models import User
from controlplane.accounts.rights import is_operator
from controlplane.router import cluster, submission
from controlplane.router.intake import Live
from controlplane.statestore.actions import jobs as actions
from controlplane.statestore.actions.jobs import Change
from controlplane.statestore.errors import Conflict, Invalid, TooMany
from controlplane.statestore.models import Intent, Job
from controlplane.statestore.queries.jobs import listing
from wire.resources import AXES

from .common import JOB_JSON_MAX, StrictJson, View, account, actor, answers, body, changeable_job, require
from .jobtext import JobText, JobYaml


def move_error(user: User, job: Job, queue: str, priority: int | None = None) -> FieldError | None:
    """Why this account may not put the job into that queue, if so: the same as would keep it from submitting there."""
    if wrong := cluster.queue_error(user, queue):
        return wrong
    if wrong := cluster.priority_error(user, queue, job.priority if priority is None else priority):
        return wrong
    for name in listing.partitions(job.pk):
        if wrong := cluster.partition_error(queue, name, "queue"):
            return wrong
    return None if queue == job.queue or is_operator(user) else _no_room(job, queue)


def _no_room(job: Job, queue: str) -> FieldError | None:
    """What one user may have live there, where the job's owner has it already."""
    its = Live(1, job.task_count, job.spec_bytes)
    try:
        cluster.claim_live_jobs(job.owner_id, {queue: its, job.queue: its.gone()}, "queue")
    except Invalid as refused:
        return refused.errors[0]
    except TooMany as refused:
        problem, _, remedy = str(refused).partition("; ")
        return FieldError("queue", problem, remedy)
    return None


class JobQueue(View):
    @extend_schema(
        operation_id="jobs_move",
        request=MoveRequest,
        responses=answers({202: JobDetail}, 409, 415),
    )
    def post(self, request: Request, job_id: int) -> Response:
        """Put the job into another queue; its home decides, and says ``moved`` or ``not_moved`` among its events.

        It needs the right to change the job, and to submit to the other queue.
        What runs goes on; a job that was admitted moves only where the other
        queue may run one job more.
        """
        job = changeable_job(request, job_id)
        queue = body(request, MoveRequest).queue
        if wrong := move_error(account(request), job, queue):
            raise Invalid("the job cannot move there", [wrong])
        if queue == job.queue:
            raise Conflict(f"job {job.pk} is in {queue} already")
        actions.move(actor(request), job, queue)
        return Response(listing.detail(account(request), job_id), status=202)


class JobActions(View):
    @extend_schema(
        operation_id="jobs_actions",
        request=ActionsRequest,
        responses=answers({202: ActionsAnswer}, 409, 415),
    )
    def post(self, request: Request) -> Response:
        """Kill, reprioritise or move up to 1000 jobs; each is asked for by itself, and told why where it is not."""
        require("jobs.submit", request)
        asked = body(request, ActionsRequest)
        if wrong := asked.wrong():
            raise Invalid("the request has errors", wrong)
        found = listing.find_many(account(request), asked.jobs)
        results, changes = [], []
        for number in dict.fromkeys(asked.jobs):
            job = found.get(number)
            refused = _refused(account(request), asked, number, job)
            if job is not None and not refused:
                changes.append(_change(account(request), asked, job))
            results.append({"job": number, "accepted": not refused, "refused": refused})
        if changes:
            writes.claim(account(request), len(changes) - 1)
            actions.change(actor(request), changes)
        return Response({"accepted": len(changes), "results": results}, status=202)


def _refused(user: User, asked: ActionsRequest, number: int, job: Job | None) -> str:
    """Why this job is left as it is, or nothing."""
    if job is None:
        return f"there is no job {number} that you may see"
    if not rules.has_perm("jobs.change", user, job):
        return f"you may see job {number} but not change it"
    if why := actions.refusal(job):
        return why
    wrong: FieldError | None = None
    if asked.action == "priority" and asked.priority is not None:
        wrong = cluster.priority_error(user, job.queue, asked.priority)
    elif asked.action == "queue" and asked.queue is not None:
        if asked.queue == job.queue:
            return f"it is in {job.queue} already"
        wrong = move_error(user, job, asked.queue)
    return f"{wrong.message}; {wrong.remedy}" if wrong else ""


def _change(user: User, asked: ActionsRequest, job: Job) -> Change:
    if asked.action == "priority":
        return Change(job, Intent.Kind.PRIORITY, {"priority": asked.priority}, {"priority": job.priority})
    if asked.action == "queue":
        return Change(job, Intent.Kind.MOVE, {"queue": asked.queue}, {"queue": job.queue})
    return Change(job, Intent.Kind.KILL, {"message": actions.killed_by(user.username, asked.message)})


class JobsValidate(View):
    body_max = JOB_JSON_MAX
    parser_classes = [StrictJson, JobYaml]

    @extend_schema(operation_id="jobs_validate", request=JobRequest, responses=answers({200: JobChecked}, 413, 415))
    def post(self, request: Request) -> Response:
        """What a submit of this job would say, and what would become of it now, without submitting it.

        Files need not be uploaded yet.
        """
        require("jobs.submit", request)
        sent = JobText(request)
        with sent.locating():
            spec, warned, outlook = submission.checked(account(request), request.data)
        totals: dict[str, Any] = dict(zip(AXES, spec.demand, strict=True))
        facts = {"queue": spec.queue, "priority": spec.priority or 0, "groups": len(spec.groups)}
        said = {"warnings": [asdict(each) for each in sent.located(warned)], "outlook": outlook}
        shown = spec.model_dump(mode="json", exclude={"groups"} if spec.master else None)
        return Response(facts | {"tasks": sum(g.count for g in spec.groups), "spec": shown} | totals | said)
