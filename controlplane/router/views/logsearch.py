"""Lines that hold a text, in all that a job's containers have written."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.logsearch import FoundLinePage
from controlplane.statestore.actions.logs import STREAMS
from controlplane.statestore.queries.jobs import logsearch

from .common import (
    PAGING,
    View,
    answers,
    choice,
    group_of,
    job_of,
    paged,
    text,
    text_parameter,
    wrong,
)

TEXT = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[^\x00]*$"}


class JobLogs(View):
    @extend_schema(
        operation_id="jobs_logs",
        parameters=[
            OpenApiParameter("contains", TEXT, required=True, description="The text, in whatever case"),
            text_parameter("group", "Only of this group of tasks"),
            OpenApiParameter("stream", str, enum=list(STREAMS), description="Only this one; both by default"),
            *PAGING,
        ],
        responses=answers({200: FoundLinePage}),
    )
    def get(self, request: Request, job_id: int) -> Response:
        """Lines that hold a text, in all that the job's tasks have written, every attempt, by task and age.

        Text is as a terminal shows it, without colours. Some megabytes are looked through for one answer: it may hold
        no line and yet say where to go on.
        """
        job = job_of(request, job_id)
        contains = text(request, "contains")
        if not contains:
            raise wrong("contains", "is missing", "give the text to look for")
        if "\n" in contains or "\r" in contains:
            raise wrong("contains", "is more than one line", "give a text of one line")
        only = choice(request, "stream", STREAMS)
        streams = [only] if only else list(STREAMS.values())
        search = logsearch.Search(job, contains, streams, group_of(request, job.pk))
        page = paged(request, logsearch.KEY_PARTS, search.page)
        return Response(page.data | {"searched": search.searched})
