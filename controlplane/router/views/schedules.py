"""Schedules: make, list, look at, change; and what became of their times."""

from dataclasses import replace
from typing import TypeVar

import rules
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract import schedules as contract
from contract.schedules import ScheduleRequest, ScheduleUpdate
from controlplane.router.schedules import running, saving, showing
from controlplane.statestore.actions import schedules as actions
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import Forbidden, Invalid
from controlplane.statestore.models import Schedule
from controlplane.statestore.queries.jobs import schedules as queries
from controlplane.statestore.queries.paging import Cursor, Page

from .common import (
    JOB_JSON_MAX,
    PAGING,
    View,
    account,
    actor,
    answers,
    body,
    existing,
    paged,
    require,
    text,
    text_parameter,
)

DETAIL = answers({200: contract.ScheduleDetail}, 409, 415)

S = TypeVar("S", bound=ScheduleRequest)


def schedule_of(request: Request, schedule_id: int) -> Schedule:
    """The schedule if the account may see it, as it would see its jobs."""
    found = queries.find(account(request), schedule_id)
    return existing(found, f"there is no schedule {schedule_id} that you may see")


def changeable(request: Request, schedule_id: int) -> Schedule:
    """The schedule if the account may change it, as it might change its jobs."""
    row = schedule_of(request, schedule_id)
    if not rules.has_perm("jobs.change", request.user, row):
        raise Forbidden(f"you may see schedule {schedule_id} but not change it")
    return row


def whole(request: Request, schedule_id: int, checked: saving.Checked | None = None, status: int = 200) -> Response:
    """The schedule as it is now."""
    row = schedule_of(request, schedule_id)
    last = queries.last_runs([row.pk]).get(row.pk)
    warnings = checked.warnings if checked else None
    return Response(showing.whole(row, last, database_now(), warnings), status=status)


def _asked(request: Request, shape: type[S]) -> S:
    """The body as ``shape``; ``Invalid`` tells of its times along with all else that is wrong."""
    try:
        return body(request, shape)
    except Invalid as error:
        named = {each.field for each in error.errors}
        times = [each for each in saving.wrong_times(request.data) if each.field not in named]
        raise Invalid(error.detail, [*error.errors, *times]) from None


class Schedules(View):
    body_max = JOB_JSON_MAX

    @extend_schema(
        operation_id="schedules_list",
        parameters=[
            text_parameter("owner"),
            text_parameter("queue", "In this queue or below it"),
            text_parameter("name", "The beginning of the name"),
            *PAGING,
        ],
        responses=answers({200: contract.SchedulePage}),
    )
    def get(self, request: Request) -> Response:
        """The schedules whose jobs you may see, the newest first."""
        where = [text(request, name) for name in ("owner", "queue", "name")]

        def read(at: Cursor, size: int) -> Page:
            found = queries.list_page(account(request), at, size, *where)
            return replace(found, results=[showing.listed(row, last) for row, last in found.results])

        return paged(request, 1, read)

    @extend_schema(
        operation_id="schedules_create",
        request=ScheduleRequest,
        responses=answers({201: contract.ScheduleDetail}, 409, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """Start a job again and again, at the times of a cron expression, each time once.

        The job is checked as a submit of it is; fields of it are told as ``job.…``, with line and column of its text.
        """
        require("jobs.submit", request)
        user, now = account(request), database_now()
        checked = saving.check(user, user, _asked(request, ScheduleRequest), now)
        row = actions.create(actor(request), user, checked.written, now)
        return whole(request, row.pk, checked, 201)


class SchedulesPreview(View):
    body_max = JOB_JSON_MAX

    @extend_schema(
        operation_id="schedules_preview",
        request=ScheduleRequest,
        responses=answers({200: contract.SchedulePreview}, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """What would be said of this schedule, and its next times, without keeping it. Files may be missing yet."""
        require("jobs.submit", request)
        user, asked = account(request), _asked(request, ScheduleRequest)
        return Response(showing.previewed(saving.check(user, user, asked, database_now(), files=False)))


class ScheduleDetail(View):
    body_max = JOB_JSON_MAX

    @extend_schema(operation_id="schedules_get", responses=answers({200: contract.ScheduleDetail}))
    def get(self, request: Request, schedule_id: int) -> Response:
        """One schedule with its job file and its next times."""
        return whole(request, schedule_id)

    @extend_schema(
        operation_id="schedules_update",
        request=ScheduleUpdate,
        responses=answers({200: contract.ScheduleDetail}, 409, 412, 413, 415),
    )
    def put(self, request: Request, schedule_id: int) -> Response:
        """Change all of a schedule; times that have passed are let go.

        Its job runs in the name of its owner. Whoever else writes it must be one who may submit that job himself.
        """
        row = changeable(request, schedule_id)
        asked, now = _asked(request, ScheduleUpdate), database_now()
        checked = saving.check(account(request), row.owner, asked, now)
        actions.update(actor(request), row.pk, checked.written, asked.revision, now)
        return whole(request, row.pk, checked)

    @extend_schema(operation_id="schedules_delete", responses=answers({}, 404) | {204: None})
    def delete(self, request: Request, schedule_id: int) -> Response:
        """Start nothing by it any more, and forget its history. Its jobs run on."""
        actions.delete(actor(request), changeable(request, schedule_id).pk)
        return Response(status=204)


class ScheduleSuspend(View):
    @extend_schema(operation_id="schedules_suspend", request=None, responses=DETAIL)
    def post(self, request: Request, schedule_id: int) -> Response:
        """Start nothing by itself until it is resumed; its jobs run on."""
        actions.suspend(actor(request), changeable(request, schedule_id).pk)
        return whole(request, schedule_id)


class ScheduleResume(View):
    @extend_schema(operation_id="schedules_resume", request=None, responses=DETAIL)
    def post(self, request: Request, schedule_id: int) -> Response:
        """Go on with the times to come. Those that passed meanwhile are told in its history and start nothing."""
        running.resume(actor(request), changeable(request, schedule_id).pk)
        return whole(request, schedule_id)


class ScheduleRun(View):
    @extend_schema(
        operation_id="schedules_run", request=None, responses=answers({201: contract.ScheduleRun}, 409, 415, 429)
    )
    def post(self, request: Request, schedule_id: int) -> Response:
        """Start its job now, in the name of its owner, also while it is suspended. Its times stay as they are."""
        require("jobs.submit", request)
        run = running.run_now(actor(request), changeable(request, schedule_id).pk)
        return Response(queries.run(run.pk), status=201)


class ScheduleRuns(View):
    @extend_schema(operation_id="schedules_runs", parameters=PAGING, responses=answers({200: contract.ScheduleRunPage}))
    def get(self, request: Request, schedule_id: int) -> Response:
        """What became of its times, the last one first; as many as it keeps."""
        row = schedule_of(request, schedule_id)
        return paged(request, 1, lambda at, size: queries.runs(row, at, size))
