"""Where a job's containers serve."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.jobs import EndpointPage
from controlplane.statestore.queries.jobs import endpoints

from .common import PAGING, View, answers, job_of, paged


class JobEndpoints(View):
    @extend_schema(operation_id="jobs_endpoints", parameters=PAGING, responses=answers({200: EndpointPage}))
    def get(self, request: Request, job_id: int) -> Response:
        """The ports of the job's live containers, with their health and the path to reach them through this server."""
        job = job_of(request, job_id)
        return paged(request, 3, lambda at, size: endpoints.list_page(job, at, size))
