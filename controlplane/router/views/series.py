"""History over time: charts, and how things stood at a moment."""

import datetime as dt

from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.problems import FieldError
from contract.series import SeriesAnswer
from contract.series import SeriesInstant as SeriesInstantAnswer
from controlplane import clock
from controlplane.accounts.models import User
from controlplane.accounts.rights import level_in, sees_everything
from controlplane.router.owed import owed
from controlplane.statestore.errors import Forbidden, Invalid, NotFound
from controlplane.statestore.models import Node, Queue, SubCluster
from controlplane.statestore.queries.series import reading
from controlplane.statestore.queries.series.events import events
from controlplane.statestore.queries.series.instant import instant
from controlplane.statestore.series.columns import CLUSTER, NODE, QUEUE, SUB_CLUSTER
from controlplane.statestore.series.metrics import METRICS, OPEN, Metric

from .common import View, account, answers, integer, number_parameter, text, text_parameter

POINTS = (300, 2, 1500)
SERIES_MAX = 40  # scopes times metrics
RANGE_MAX = dt.timedelta(days=400)
_TIME = "As ISO 8601 or in seconds since 1970"
_NAMES = {"maxLength": 2000}
PARAMETERS = [
    text_parameter("metric", f"With commas between, of: {', '.join(METRICS)}", **_NAMES),
    text_parameter(
        "scope", "`cluster`, `sub-cluster:<name>`, `queue:<path>` or `node:<id>`, with commas between", **_NAMES
    ),
    text_parameter("from", f"{_TIME}; an hour before `to` by default"),
    text_parameter("to", f"{_TIME}; now by default"),
    number_parameter("points", *POINTS[1:], f"At most so many; {POINTS[0]} by default"),
]


class Series(View):
    @extend_schema(operation_id="series", parameters=PARAMETERS, responses=answers({200: SeriesAnswer}))
    def get(self, request: Request) -> Response:
        """Metrics over time, and what was decided meanwhile. Tenants: of queues they were granted, and capacities."""
        metrics = [_metric(name) for name in _list(request, "metric")]
        scopes = _list(request, "scope") or [CLUSTER]
        if not metrics:
            raise _wrong("metric", "is missing", f"name one or more of {', '.join(METRICS)}")
        if len(metrics) * len(scopes) > SERIES_MAX:
            raise _wrong("scope", f"{len(scopes)} scopes of {len(metrics)} metrics", f"ask for {SERIES_MAX} at most")
        start, end = _range(request)
        user = account(request)
        _check(user, scopes, metrics)
        points = integer(request, "points", *POINTS)
        found = reading.read(scopes, metrics, start, end, points, owed(scopes, metrics))
        return Response(found | {"events": events(start, end, sees_everything(user))})


class SeriesInstant(View):
    @extend_schema(
        operation_id="series_instant",
        parameters=[text_parameter("at", f"{_TIME}; now by default")],
        responses=answers({200: SeriesInstantAnswer}),
    )
    def get(self, request: Request) -> Response:
        """How sub-clusters and queues stood at a moment. Tenants: queues they were granted."""
        user = account(request)
        found = instant(_time(request, "at", clock.now()))
        if not sees_everything(user):
            own = [queue for queue in found["queues"] if level_in(user, queue["name"])]
            found |= {"cluster": None, "sub_clusters": [], "queues": own, "queues_left_out": 0}
        return Response(found)


def _list(request: Request, name: str) -> list[str]:
    value = request.query_params.get(name, "")
    if "\0" in value or len(value) > _NAMES["maxLength"]:
        raise _wrong(name, "is too long", f"use at most {_NAMES['maxLength']} characters and no NUL")
    return list(dict.fromkeys(part for part in (p.strip() for p in value.split(",")) if part))


def _metric(name: str) -> Metric:
    if name not in METRICS:
        raise _wrong("metric", f"{name[:40]!r} is not known", f"use some of {', '.join(METRICS)}")
    return METRICS[name]


def _range(request: Request) -> tuple[dt.datetime, dt.datetime]:
    now = clock.now()
    end = _time(request, "to", now)
    start = _time(request, "from", end - dt.timedelta(hours=1))
    if not start < end:
        raise _wrong("from", "is not before `to`", "swap them or leave one out")
    if end - start > RANGE_MAX:
        raise _wrong("from", f"is more than {RANGE_MAX.days} days before `to`", "ask for a shorter range")
    return start, end


def _time(request: Request, name: str, default: dt.datetime) -> dt.datetime:
    value = text(request, name)
    if not value:
        return default
    found: dt.datetime | None = None
    try:
        if value.replace(".", "", 1).isascii() and value.replace(".", "", 1).isdigit():
            found = dt.datetime.fromtimestamp(float(value), dt.UTC)
        else:
            found = parse_datetime(value.replace(" ", "+"))
    except (ValueError, OverflowError, OSError):
        found = None
    if found is None or not 1971 <= found.year <= 2200:
        raise _wrong(name, f"{value[:40]!r} is no time", "write 2026-01-31T08:00:00Z or seconds since 1970")
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


def _check(user: User, scopes: list[str], metrics: list[Metric]) -> None:
    """``NotFound`` for what is not there, or is a queue of others; ``Forbidden`` for what would tell of others."""
    everything = sees_everything(user)
    closed = [m.name for m in metrics if m.name not in OPEN]
    names = {scope.partition(":")[2] for scope in scopes if scope.startswith(SUB_CLUSTER)}
    subs = set(SubCluster.objects.filter(name__in=names).values_list("name", flat=True)) if names else set()
    for scope in scopes:
        kind, _, name = scope.partition(":")
        if scope == CLUSTER or (scope.startswith(SUB_CLUSTER) and name in subs):
            if closed and not everything:
                raise Forbidden(f"{closed[0]} of the {kind} tells of others; ask for scope queue:<a queue of yours>")
        elif everything and scope.startswith(NODE) and _is_node(name):
            continue
        elif not (scope.startswith(QUEUE) and (everything or level_in(user, name)) and _is_queue(name)):
            raise NotFound(
                f"there is no {scope[:100]!r} that you may see; use cluster, sub-cluster:<name>, node:<id>, or "
                "queue:<path> of a queue that you were granted: one that is open to all tells of others"
            )


def _is_node(name: str) -> bool:
    number = name.isascii() and name.isdigit() and len(name) < 19 and not name.startswith("0")
    return number and Node.objects.filter(pk=int(name)).exists()


def _is_queue(path: str) -> bool:
    """Whether there is such a queue, or was while history was kept."""
    there = Queue.objects.filter(version__active=True, path=path).exists()
    return there or bool(reading.known([QUEUE + path]))


def _wrong(name: str, message: str, remedy: str) -> Invalid:
    return Invalid("a parameter has an error", [FieldError(name, message, remedy)])
