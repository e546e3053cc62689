"""One's own receivers: kept, tried, deleted, and what each was told. No route answers where a webhook leads."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response

from contract.fields import DNS, ReceiverName
from contract.notifications import (
    JobReceiverList,
    Notification,
    NotificationPage,
    ReceiverKept,
    ReceiverList,
    ReceiverRequest,
)
from contract.problems import FieldError
from controlplane import outside
from controlplane.statestore.actions import receivers as actions
from controlplane.statestore.errors import Invalid
from controlplane.statestore.queries.accounts import receivers

from .common import (
    PAGING,
    SMALL,
    View,
    account,
    actor,
    answers,
    body,
    job_of,
    misnamed,
    paged,
    require,
    text_parameter,
    whole,
)

_NAME = TypeAdapter(ReceiverName)
_MISNAMED = (
    "is no name of a receiver",
    "use at most 63 lower-case letters, digits and '-', beginning with a letter or digit",
)
_IN_PATH = text_parameter("name", where=OpenApiParameter.PATH, maxLength=63, pattern=DNS)


class OwnReceivers(View):
    @extend_schema(operation_id="receivers_list", responses=answers({200: ReceiverList}))
    def get(self, request: Request) -> Response:
        """Where you hear of your jobs, whether that works, and why not. Of a webhook never its whole address."""
        return whole(receivers.of_account(account(request)))


class OwnReceiver(View):
    body_max = SMALL

    @extend_schema(
        operation_id="receivers_put",
        parameters=[_IN_PATH],
        request=ReceiverRequest,
        responses=answers({200: ReceiverKept, 201: ReceiverKept}, 409, 413, 415),
    )
    def put(self, request: Request, name: str) -> Response:
        """Keep a webhook, or mail, under this name. The key of a new webhook is answered this once."""
        require("jobs.submit", request)
        wanted, user = body(request, ReceiverRequest, misnamed(name, _NAME, *_MISNAMED)), account(request)
        url = wanted.webhook.get_secret_value() if wanted.webhook else None
        if url and (why := outside.refused(url)):
            raise Invalid("the receiver has an error", [FieldError("webhook", why, outside.REMEDY)])
        row, key = actions.put(actor(request), user, name, url, wanted.mail, wanted.every_job)
        made = row.created_at == row.changed_at
        return Response(receivers.as_json(row, user) | {"signing_key": key}, status=201 if made else 200)

    @extend_schema(operation_id="receivers_delete", parameters=[_IN_PATH], responses=answers({}) | {204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Tell it nothing any more. New jobs that name it are refused."""
        actions.delete(actor(request), account(request), name)
        return Response(status=204)


class ReceiverTest(View):
    @extend_schema(
        operation_id="receivers_test",
        parameters=[_IN_PATH],
        request=None,
        responses=answers({202: Notification}, 409, 415),
    )
    def post(self, request: Request, name: str) -> Response:
        """Tell it something of no job, to see whether it arrives."""
        require("jobs.submit", request)
        return Response(receivers.as_told(actions.test(actor(request), account(request), name)), status=202)


class ReceiverNotifications(View):
    @extend_schema(
        operation_id="receivers_notifications",
        parameters=[_IN_PATH, *PAGING],
        responses=answers({200: NotificationPage}),
    )
    def get(self, request: Request, name: str) -> Response:
        """What it was told and is to be told, newest first, and what became of it."""
        row = actions.of_name(account(request), name)
        return paged(request, 1, lambda at, size: receivers.told(row, at, size))


class JobReceivers(View):
    @extend_schema(operation_id="jobs_receivers", responses=answers({200: JobReceiverList}))
    def get(self, request: Request, job_id: int) -> Response:
        """Who is told of your job, and whether that arrived. Of the jobs of others nobody is named."""
        job = job_of(request, job_id)
        own = job.owner_id == account(request).pk
        return whole(receivers.of_job(job.pk, job.owner_id) if own else [])
