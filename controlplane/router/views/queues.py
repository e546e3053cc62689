"""The queue tree in columns, the matrix of queues and sub-clusters, one queue, and what an account used."""

import csv
import datetime as dt
import io
from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.problems import FieldError
from contract.queues import QueueDetail as QueueDetailAnswer
from contract.queues import QueueList, UsedAccounts, UsedHours, UsedTags
from contract.queuetree import QueueLayout
from contract.queuetree import QueueMatrix as QueueMatrixAnswer
from contract.queuetree import QueueUse as QueueUseAnswer
from controlplane import clock
from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.router import unknown
from controlplane.statestore.errors import Forbidden, Invalid, NotFound
from controlplane.statestore.queries.accounts import usage
from controlplane.statestore.queries.queues import live
from controlplane.statestore.queries.queues.detail import detail
from controlplane.statestore.queries.queues.listing import QueueFilter, queue_page, queues
from controlplane.statestore.queries.queues.matrix import matrix
from wire.resources import AXES

from .common import (
    PAGING,
    AnyAccept,
    View,
    account,
    answers,
    choice,
    existing,
    integer,
    number_parameter,
    paged,
    text,
    text_parameter,
    whole,
    wrong,
)

PARTITION = text_parameter("partition", "The default one if left out")
RESOURCE = OpenApiParameter("resource", enum=AXES, description="What each queue wants most of, if left out")
YES = {"yes": True, "no": False}
_OF_ALL = "only operators and viewers see what all accounts used"
PAGED_BY = {"contains", "may_submit", "whole", "page_size", "cursor"}


class Queues(View):
    @extend_schema(
        operation_id="queues_list",
        parameters=[
            text_parameter("contains", "Only those whose path contains it, in any case"),
            text_parameter("may_submit", "yes: only those you may submit to", enum=list(YES)),
            text_parameter("whole", "yes: only those of which you see all jobs, not your own alone", enum=list(YES)),
            *PAGING,
        ],
        responses=answers({200: QueueList}),
    )
    def get(self, request: Request) -> Response:
        """The queues of the policy in force, with their use over all sub-clusters.

        Tenants get those they may use; of one that is merely open to all, the
        use and the jobs are their own. All of them in one answer, unless something
        is asked for: that is answered in pages.
        """
        user, contains = account(request), text(request, "contains") or ""
        may_submit, whole_ones = bool(choice(request, "may_submit", YES)), bool(choice(request, "whole", YES))
        if not PAGED_BY & request.query_params.keys():
            return whole(queues(user))
        wanted = QueueFilter(contains, may_submit, whole_ones)
        return paged(request, 1, lambda at, size: queue_page(user, at, size, wanted))


class QueueTree(View):
    @extend_schema(operation_id="queues_tree", responses=answers({200: QueueLayout}))
    def get(self, request: Request) -> Response:
        """Names and limits of the queues in columns; they change with the policy and with the nodes there are."""
        return Response(live.layout(account(request)))


class QueueUse(View):
    @extend_schema(
        operation_id="queues_use",
        parameters=[text_parameter("sub_cluster", "All together if left out")],
        responses=answers({200: QueueUseAnswer}),
    )
    def get(self, request: Request) -> Response:
        """What the queues of the tree use, want and were given, in columns, and which of them starve."""
        found = live.use(account(request), text(request, "sub_cluster"))
        return Response(existing(found, "there is no such sub-cluster"))


class QueueMatrix(View):
    @extend_schema(
        operation_id="queues_matrix",
        parameters=[
            text_parameter("under", "Path of the queue whose children are shown; `root` if left out"),
            PARTITION,
            RESOURCE,
            number_parameter("skip", 0, 1_000_000, "So many of the children are left out"),
        ],
        responses=answers({200: QueueMatrixAnswer}),
    )
    def get(self, request: Request) -> Response:
        """A queue and its children in every sub-cluster: what each was given there, and which rule binds."""
        user, under = account(request), text(request, "under") or "root"
        resource, skip = (
            choice(request, "resource", dict(zip(AXES, AXES, strict=True))),
            integer(request, "skip", 0, 0, 1_000_000),
        )
        partition = text(request, "partition") or ""
        found = matrix(user, under, partition, resource or "", skip)
        return Response(_seen(found, user, under, partition))


class QueueDetail(View):
    @extend_schema(
        operation_id="queues_get",
        parameters=[PARTITION, RESOURCE],
        responses=answers({200: QueueDetailAnswer}),
    )
    def get(self, request: Request, path: str) -> Response:
        """One queue: its limits, whose jobs hold what, and why each sub-cluster has the share it has."""
        resource = choice(request, "resource", dict(zip(AXES, AXES, strict=True))) or ""
        user, partition = account(request), text(request, "partition") or ""
        return Response(_seen(detail(user, path, partition, resource), user, path, partition))


def _seen(found: dict[str, Any] | None, user: User, path: str, partition: str) -> dict[str, Any]:
    if found is None:
        raise NotFound(unknown.queue_seen(user, path, partition))
    return found


SPAN = [
    OpenApiParameter("begin", OpenApiTypes.DATETIME, description="A week ago if left out"),
    OpenApiParameter("end", OpenApiTypes.DATETIME, description="Now if left out"),
    text_parameter("queue", "In this queue or below it"),
]
WHEN = [*SPAN, text_parameter("owner", "Whose, for those who see everything; your own if left out")]
ALL = text_parameter(
    "all_accounts", "yes: of all, each line with its owner, for those who see everything", enum=list(YES)
)


class UsageHours(View):
    @extend_schema(
        operation_id="usage_hours",
        parameters=[
            *WHEN,
            OpenApiParameter("step", enum=["hour", "day"], description="`hour` if left out, of a tag `day`"),
            text_parameter("tag", "Of jobs of this tag alone, by the day (UTC); the empty one: of those without a tag"),
        ],
        responses=answers({200: UsedHours}),
    )
    def get(self, request: Request) -> Response:
        """What an account used, per hour or day and queue, of containers that ended then."""
        owner, begin, end, queue = _asked(request)
        step, tag = choice(request, "step", {"hour": "hour", "day": "day"}), text(request, "tag")
        if tag is not None and step == "hour":
            raise wrong("step", "'hour' is not kept of tags", "ask for step=day, or leave it out")
        if tag is not None:
            return Response(usage.tag_days(owner, begin, end, queue, tag))
        step = step or "hour"
        return Response(usage.hours(owner, begin, end, queue, step))


class UsageExport(View):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="usage_hours_csv",
        parameters=[*WHEN, ALL],
        responses=answers({}) | {(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="One line per hour")},
    )
    def get(self, request: Request) -> HttpResponse:
        """The same ledger as a CSV file: a line per hour, sub-cluster and queue."""
        begin, end, queue = _span(request)
        owner = _one_or_all(request)
        name = f"usage-{begin:%Y%m%d}-{end:%Y%m%d}"
        return _csv(name, usage.head(usage.HEAD, owner), usage.lines(owner, begin, end, queue))


class UsageAccounts(View):
    @extend_schema(operation_id="usage_accounts", parameters=SPAN, responses=answers({200: UsedAccounts}))
    def get(self, request: Request) -> Response:
        """What each account used, of containers that ended then: for those who see everything.

        Of at most 31 days; who held most processors comes first.
        """
        if not sees_everything(account(request)):
            raise Forbidden(_OF_ALL)
        return Response(usage.accounts(*_span(request, usage.ACCOUNTS_DAYS_MAX)))


class UsageTags(View):
    @extend_schema(operation_id="usage_tags", parameters=WHEN, responses=answers({200: UsedTags}))
    def get(self, request: Request) -> Response:
        """What an account used by the tags of its jobs, of whole days (UTC); a job counts for each of its tags."""
        return Response(usage.tags(*_asked(request)))


class UsageTagsExport(View):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="usage_tags_csv",
        parameters=[*WHEN, ALL],
        responses=answers({}) | {(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="One line per day")},
    )
    def get(self, request: Request) -> HttpResponse:
        """The same ledger as a CSV file: a line per day, sub-cluster, queue and tag."""
        begin, end, queue = _span(request)
        owner = _one_or_all(request)
        name = f"usage-by-tag-{begin:%Y%m%d}-{end:%Y%m%d}"
        return _csv(name, usage.head(usage.TAG_HEAD, owner), usage.tag_lines(owner, begin, end, queue))


def _csv(name: str, head: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> HttpResponse:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows(rows)
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _asked(request: Request) -> tuple[int, dt.datetime, dt.datetime, str]:
    """(owner, begin, end, queue) of the query string, checked."""
    return _owner(request), *_span(request)


def _span(request: Request, most: int = usage.DAYS_MAX) -> tuple[dt.datetime, dt.datetime, str]:
    now = clock.now()
    end = _moment(request, "end") or now
    begin = _moment(request, "begin") or end - dt.timedelta(days=7)
    if not begin < end <= begin + dt.timedelta(days=most):
        remedy = f"at most {most} days, begin before end"
        raise Invalid("a parameter has an error", [FieldError("begin", "is no time span that can be read", remedy)])
    return begin, end, text(request, "queue") or ""


def _one_or_all(request: Request) -> int | None:
    """Whose ledger is asked for; none: that of all accounts."""
    if not choice(request, "all_accounts", YES):
        return _owner(request)
    if not sees_everything(account(request)):
        raise Forbidden(_OF_ALL)
    if text(request, "owner") is not None:
        wrong = FieldError("owner", "is one account, and all were asked for", "leave out one of both")
        raise Invalid("a parameter has an error", [wrong])
    return None


def _owner(request: Request) -> int:
    user, name = account(request), text(request, "owner")
    if name is None or name == user.username:
        return int(user.pk)
    found = User.objects.filter(username=name).values_list("pk", flat=True).first() if sees_everything(user) else None
    return int(existing(found, "there is no such account whose use you may see"))


def _moment(request: Request, name: str) -> dt.datetime | None:
    value = request.query_params.get(name)
    if value is None:
        return None
    try:
        found = dt.datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        message, remedy = f"{value[:40]!r} is no time", "write it as 2026-01-31T12:00:00Z"
        raise Invalid("a parameter has an error", [FieldError(name, message, remedy)]) from None
