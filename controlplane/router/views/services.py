"""What is done with services while they run."""

from dataclasses import asdict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.jobs import (
    JobDetail,
    JobUpdated,
    RestartRequest,
    RevisionPage,
    RollbackRequest,
    ScaleRequest,
    UpdateRequest,
)
from controlplane.router import updating
from controlplane.statestore.actions import services
from controlplane.statestore.queries.jobs import listing
from controlplane.statestore.queries.jobs import services as queries

from .common import JOB_JSON_MAX, View, account, actor, answers, body, changeable_job, job_of, whole


class JobScale(View):
    @extend_schema(operation_id="jobs_scale", request=ScaleRequest, responses=answers({202: JobDetail}, 409, 415))
    def post(self, request: Request, job_id: int) -> Response:
        """Keep another number of a service's tasks running; its events say ``scaled`` or ``not_scaled``.

        More are placed as those of a new job would be. Of fewer, those of the
        highest indices get a signal, and are killed after their grace.
        """
        job = changeable_job(request, job_id)
        asked = body(request, ScaleRequest)
        updating.scale(account(request), actor(request), job, asked)
        return Response(listing.detail(account(request), job_id), status=202)


class JobRestart(View):
    @extend_schema(operation_id="jobs_restart", request=RestartRequest, responses=answers({202: JobDetail}, 409, 415))
    def post(self, request: Request, job_id: int) -> Response:
        """Start a service's task again, or all of a group, or of the job, one task of a group after the other.

        They get a signal, and are killed after their grace; it counts as no
        failure. The next one follows when the one before it runs again and, with a health check, has passed it.
        Those that pause since they failed start at once.
        """
        job = changeable_job(request, job_id)
        asked = body(request, RestartRequest)
        services.restart(actor(request), job, asked.group, asked.index, account(request).username)
        return Response(listing.detail(account(request), job_id), status=202)


class JobSpecification(View):
    body_max = JOB_JSON_MAX

    @extend_schema(
        operation_id="jobs_update",
        request=UpdateRequest,
        responses=answers({200: JobUpdated, 202: JobUpdated}, 409, 412, 413, 415),
    )
    def put(self, request: Request, job_id: int) -> Response:
        """Have a service run something else, as its next revision, so many tasks at a time.

        A task counts when it has passed its health check, or has run
        ``min_ready_s`` without one. When too many of its attempts fail, or it is
        not done by its deadline, what ran before is rolled out again. Groups
        keep their names, numbers of tasks, partitions, gangs, parallelism,
        arrays, inputs and dependencies; what the job says beside its groups
        and files is left as it is.
        ``changes`` tells what is different. 200 and ``unchanged`` where it
        runs all that already: nothing is begun; 200 with ``dry_run``, too.
        It is taken whatever ``warnings`` it is given, as of a submit.
        """
        job = changeable_job(request, job_id)
        asked = body(request, UpdateRequest)
        changes, warned = updating.update(account(request), actor(request), job, asked)
        said = {"unchanged": changes is None, "changes": changes or [], "warnings": [asdict(each) for each in warned]}
        shown = (listing.detail(account(request), job_id) or {}) | said
        return Response(shown, status=200 if changes is None or asked.dry_run else 202)


class JobRollback(View):
    @extend_schema(
        operation_id="jobs_rollback",
        request=RollbackRequest,
        responses=answers({200: JobUpdated, 202: JobUpdated}, 409, 412, 415),
    )
    def post(self, request: Request, job_id: int) -> Response:
        """Have a service run what it ran before, as its next revision; also while another one is being rolled out.

        ``changes`` tells what is different from what it runs. It is not taken back itself, whatever becomes of it.
        200 and ``unchanged`` where it runs what the revision named says: nothing is begun.
        """
        job = changeable_job(request, job_id)
        changes = updating.rollback(account(request), actor(request), job, body(request, RollbackRequest))
        said = {"unchanged": changes is None, "changes": changes or [], "warnings": []}
        shown = (listing.detail(account(request), job_id) or {}) | said
        return Response(shown, status=200 if changes is None else 202)


class JobRevisions(View):
    @extend_schema(operation_id="jobs_revisions", responses=answers({200: RevisionPage}))
    def get(self, request: Request, job_id: int) -> Response:
        """What a service ran and runs, the newest first; the last ten."""
        return whole(queries.as_answers(queries.revisions(job_of(request, job_id))))
