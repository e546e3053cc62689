"""What is done with services while they run."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.jobs import JobDetail, RestartRequest, ScaleRequest
from controlplane.statestore.actions import services
from controlplane.statestore.queries.jobs import listing

from .common import View, account, actor, answers, body, changeable_job


class JobScale(View):
    @extend_schema(operation_id="jobs_scale", request=ScaleRequest, responses=answers({202: JobDetail}, 409, 415))
    def post(self, request: Request, job_id: int) -> Response:
        """Keep another number of a service's tasks running; its events say ``scaled`` or ``not_scaled``.

        More are placed as those of a new job would be. Of fewer, those of the
        highest indices get a signal, and are killed after their grace.
        """
        job = changeable_job(request, job_id)
        asked = body(request, ScaleRequest)
        services.scale(actor(request), job, asked.group, asked.count, account(request).username)
        return Response(listing.detail(account(request), job_id), status=202)


class JobRestart(View):
    @extend_schema(operation_id="jobs_restart", request=RestartRequest, responses=answers({202: JobDetail}, 409, 415))
    def post(self, request: Request, job_id: int) -> Response:
        """Start a service's task again, or all of a group, or of the job, one task of a group after the other.

        They get a signal, and are killed after their grace; it counts as no
        failure. The next one follows when the one before it runs again and, with a health check, has passed it.
        """
        job = changeable_job(request, job_id)
        asked = body(request, RestartRequest)
        services.restart(actor(request), job, asked.group, asked.index, account(request).username)
        return Response(listing.detail(account(request), job_id), status=202)
