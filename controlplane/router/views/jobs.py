"""Jobs: submit, list, look at, change."""

import hashlib
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from contract.jobs import (
    BulkIds,
    ContainerPage,
    EventPage,
    JobPage,
    JobSubmitted,
    KillRequest,
    OutputPage,
    PriorityRequest,
    TaskPage,
)
from contract.jobs import JobDetail as JobDetailAnswer
from contract.jobs import JobPlaces as JobPlacesAnswer
from contract.jobspec import JobRequest
from contract.jobusage import JobUsage as JobUsageAnswer
from contract.problems import FieldError
from contract.waiting import JobExplanation
from controlplane.router import cluster, impossible, submission
from controlplane.statestore.actions import jobs as actions
from controlplane.statestore.actions.jobs import MAX_BULK, Once
from controlplane.statestore.errors import Invalid
from controlplane.statestore.models import Job, TaskGroup
from controlplane.statestore.queries.jobs import containers, listing, outputs, reasons, tasks, usage, veil
from wire.states import TaskState

from .common import (
    JOB_JSON_MAX,
    PAGING,
    Queried,
    StrictJson,
    View,
    account,
    actor,
    answers,
    body,
    changeable_job,
    choice,
    group_of,
    job_of,
    moment,
    moment_parameter,
    paged,
    require,
    text,
    text_parameter,
    wrong,
)
from .jobtext import JobText, JobYaml

KEY = text_parameter(
    "Idempotency-Key",
    "Repeating a request with its key returns the first answer",
    OpenApiParameter.HEADER,
    minLength=1,
    maxLength=128,
    pattern="^[!-~]+$",
)
TASK_STATES = {state.name: state for state in TaskState}
_ORDERS = {"oldest": False, "newest": True}
ORDER = text_parameter("order", "which come first; oldest by default", enum=list(_ORDERS))


class BulkSpec(BaseModel):
    """Up to 1000 jobs, stored all or none."""

    model_config = ConfigDict(extra="forbid", strict=True)

    jobs: list[JobRequest] = Field(min_length=1, max_length=MAX_BULK)


def once(request: Request) -> Once | None:
    """The request's Idempotency-Key with the SHA-256 of what it asks for; ``None`` without one.

    Call it before ``request.data``: only an unread body can be read twice.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not (0 < len(key) <= 128 and key.isascii() and key.isprintable() and " " not in key):
        wrong = FieldError("Idempotency-Key", "is not a key", "use 1 to 128 printable ASCII characters without spaces")
        raise Invalid("a header has an error", [wrong])
    asked = request.path.encode() + b"\n" + request._request.body
    return Once(key, hashlib.sha256(asked).hexdigest())


def job_filter(asked: Queried) -> tuple[listing.JobFilter, bool]:
    """Which jobs are asked for, and whether the oldest come first."""
    where = listing.JobFilter(
        states=choice(asked, "state", listing.STATES),
        queue=text(asked, "queue"),
        owner=text(asked, "owner"),
        tag=text(asked, "tag"),
        name=text(asked, "name"),
        kind=choice(asked, "kind", dict(zip(Job.Kind.values, Job.Kind.values, strict=True))),
        node=text(asked, "node"),
        since=moment(asked, "since"),
        until=moment(asked, "until"),
    )
    return where, bool(choice(asked, "order", listing.ORDERS))


class Jobs(View):
    body_max = JOB_JSON_MAX
    parser_classes = [StrictJson, JobYaml]

    @extend_schema(
        operation_id="jobs_list",
        parameters=[
            OpenApiParameter("state", str, enum=list(listing.STATES)),
            text_parameter("queue", "In this queue or below it"),
            text_parameter("owner"),
            text_parameter("tag"),
            text_parameter("name", "The beginning of the name"),
            OpenApiParameter("kind", str, enum=Job.Kind.values),
            text_parameter("node", "With containers on this node now; `west/n1` where several have the name"),
            moment_parameter("since", "Submitted then or later"),
            moment_parameter("until", "Submitted before then"),
            OpenApiParameter("order", str, enum=list(listing.ORDERS)),
            *PAGING,
        ],
        responses=answers({200: JobPage}),
    )
    def get(self, request: Request) -> Response:
        """The jobs you may see, newest first unless ``order`` says otherwise."""
        where, oldest = job_filter(request)
        return paged(request, 1, lambda at, size: listing.list_page(account(request), where, at, size, oldest))

    @extend_schema(
        operation_id="jobs_submit",
        request=JobRequest,
        parameters=[KEY],
        responses=answers({201: JobSubmitted}, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """Submit a job. Once this is answered, the cluster does not forget it, whatever ``warnings`` it is given.

        Of a job file in YAML, or in JSON of several lines, errors tell line and column.
        """
        require("jobs.submit", request)
        key, sent = once(request), JobText(request)
        with sent.locating():
            answer = submission.submit_one(account(request), actor(request), request.data, key)
        warned = sent.located([FieldError(**each) for each in answer.get("warnings", ())])
        answer |= {"warnings": [asdict(each) for each in warned]}
        return Response(answer, status=201, headers={"Location": f"/api/v1/jobs/{answer['id']}"})


class JobsBulk(View):
    @extend_schema(
        operation_id="jobs_submit_bulk",
        request=BulkSpec,
        parameters=[KEY],
        responses=answers({201: BulkIds}, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """Submit up to 1000 jobs, all or none."""
        require("jobs.submit", request)
        key = once(request)
        answer = submission.submit_many(account(request), actor(request), _listed(request.data), key)
        return Response(answer, status=201)


def _listed(data: Any) -> list[Any]:
    listed = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_BULK or set(data) != {"jobs"}:
        wrong = FieldError("jobs", f"is not a list of 1 to {MAX_BULK} jobs", 'send {"jobs": [...]} and nothing else')
        raise Invalid("the request has errors", [wrong])
    return listed


class JobDetail(View):
    @extend_schema(operation_id="jobs_get", responses=answers({200: JobDetailAnswer}))
    def get(self, request: Request, job_id: int) -> Response:
        """One job with its spec."""
        found = listing.detail(account(request), job_id)
        if found is None:
            job_of(request, job_id)
        return Response(found)


class JobExplain(View):
    @extend_schema(operation_id="jobs_explain", responses=answers({200: JobExplanation}))
    def get(self, request: Request, job_id: int) -> Response:
        """Why each group of the job waits: the limits that bind, its place, when it can start, what would start it."""
        found = listing.detail(account(request), job_id)
        if found is None:
            job_of(request, job_id)
            return Response(None)
        explained = impossible.explained(reasons.explanation(found))
        return Response(veil.explanation(account(request), explained, found["queue"]))


class JobKill(View):
    @extend_schema(operation_id="jobs_kill", request=KillRequest, responses=answers({202: JobDetailAnswer}, 409, 415))
    def post(self, request: Request, job_id: int) -> Response:
        """Stop the job: its containers get a signal, and are killed after their grace."""
        job = changeable_job(request, job_id)
        why = body(request, KillRequest).message
        actions.kill(actor(request), job, actions.killed_by(account(request).username, why))
        return Response(listing.detail(account(request), job_id), status=202)


class JobRetry(View):
    @extend_schema(
        operation_id="jobs_retry",
        request=None,
        parameters=[KEY],
        responses=answers({201: JobSubmitted}, 409, 415),
    )
    def post(self, request: Request, job_id: int) -> Response:
        """Submit a failed or killed job again, as a new job that names it in ``retry_of``."""
        key = once(request)
        job = changeable_job(request, job_id)
        answer = submission.retry(account(request), actor(request), job, key)
        return Response(answer, status=201, headers={"Location": f"/api/v1/jobs/{answer['id']}"})


class JobPriority(View):
    @extend_schema(
        operation_id="jobs_priority",
        request=PriorityRequest,
        responses=answers({202: JobDetailAnswer}, 409, 415),
    )
    def post(self, request: Request, job_id: int) -> Response:
        """Move the job within its queue; -500 to 499, higher first."""
        job = changeable_job(request, job_id)
        priority = body(request, PriorityRequest).priority
        if wrong := cluster.priority_error(account(request), job.queue, priority):
            raise Invalid("the queue does not allow this priority", [wrong])
        actions.set_priority(actor(request), job, priority)
        return Response(listing.detail(account(request), job_id), status=202)


class JobTasks(View):
    @extend_schema(
        operation_id="jobs_tasks",
        parameters=[
            text_parameter("group"),
            OpenApiParameter("state", str, enum=list(TASK_STATES)),
            *PAGING,
        ],
        responses=answers({200: TaskPage}),
    )
    def get(self, request: Request, job_id: int) -> Response:
        """The job's tasks by group and index."""
        job = job_of(request, job_id)
        group_of(request, job.pk)  # a misspelt one is no group without tasks
        group, state = text(request, "group"), choice(request, "state", TASK_STATES)
        return paged(request, 2, lambda at, size: tasks.list_page(job, at, size, group, state))


class JobContainers(View):
    @extend_schema(
        operation_id="jobs_containers",
        parameters=[
            text_parameter("task", "`group/index`", pattern="^[-a-z0-9]{1,63}/[0-9]{1,9}$"),
            text_parameter("order", "`newest` first, of one task; else by task and age", enum=list(_ORDERS)),
            *PAGING,
        ],
        responses=answers({200: ContainerPage}),
    )
    def get(self, request: Request, job_id: int) -> Response:
        """The job's containers: every attempt of every task."""
        job = job_of(request, job_id)
        task = _task(job.pk, text(request, "task"))
        if choice(request, "order", _ORDERS):
            if task is None:
                raise wrong("order", "newest is of the attempts of one task", "name the task, or leave order out")
            return paged(request, 2, lambda at, size: containers.attempts_page(job, task, at, size))
        return paged(request, 3, lambda at, size: containers.list_page(job, at, size, task))


class JobPlaces(View):
    @extend_schema(operation_id="jobs_places", responses=answers({200: JobPlacesAnswer}))
    def get(self, request: Request, job_id: int) -> Response:
        """The sub-clusters in which the job was given containers, since when, and how many."""
        return Response(containers.places(job_of(request, job_id)))


class JobUsage(View):
    @extend_schema(operation_id="jobs_usage", responses=answers({200: JobUsageAnswer}))
    def get(self, request: Request, job_id: int) -> Response:
        """What the job's ended attempts used of what they asked for, by group, and a size that would do."""
        return Response(usage.usage(job_of(request, job_id)))


def _task(job_id: int, name: str | None) -> tuple[int, int] | None:
    if name is None:
        return None
    group, _, index = name.rpartition("/")
    no = TaskGroup.objects.filter(job_id=job_id, name=group).values_list("no", flat=True).first()
    if no is None or not (index.isascii() and index.isdigit() and len(index) < 10):
        wrong = FieldError("task", f"{name[:80]!r} is not a task of this job", "give group/index, such as map/0")
        raise Invalid("a parameter has an error", [wrong])
    return no, int(index)


class JobEvents(View):
    @extend_schema(operation_id="jobs_events", parameters=[ORDER, *PAGING], responses=answers({200: EventPage}))
    def get(self, request: Request, job_id: int) -> Response:
        """What happened to the job that its states do not say."""
        job, newest_first = job_of(request, job_id), bool(choice(request, "order", _ORDERS))
        return paged(request, 1, lambda at, size: listing.events(job, at, size, newest_first))


class JobOutputs(View):
    @extend_schema(operation_id="jobs_outputs", parameters=PAGING, responses=answers({200: OutputPage}))
    def get(self, request: Request, job_id: int) -> Response:
        """The files the job's tasks have left behind; those of winning attempts only."""
        job = job_of(request, job_id)
        return paged(request, 3, lambda at, size: outputs.list_page(job, at, size))
