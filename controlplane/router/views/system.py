"""Whether this process and its stores work, and its numbers for a monitor."""

from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from contract.system import ComponentList, Health
from controlplane.router import clustermetrics, metrics
from controlplane.statestore import bus
from controlplane.statestore.queries.federation import components

from .common import View, answers, require, whole


class Healthz(View):
    """Asked by supervisors and proxies, so it needs no account and tells nothing but up or down."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []
    throttle_classes: list[Any] = []

    @extend_schema(
        operation_id="healthz",
        auth=[],
        responses={(200, "application/json"): Health, (503, "application/json"): Health},
    )
    def get(self, request: Request) -> Response:
        """``ok`` with both stores, ``degraded`` without Redis (submits work), ``down`` without Postgres."""
        postgres, redis = _postgres(), bus.attempt(lambda r: bool(r.ping()), False)
        status = "ok" if postgres and redis else "degraded" if postgres else "down"
        stores = {"postgres": "up" if postgres else "down", "redis": "up" if redis else "down"}
        headers = {} if postgres else {"Retry-After": "2"}
        return Response({"status": status, "stores": stores}, status=200 if postgres else 503, headers=headers)


def _postgres() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return True
    except DatabaseError:
        return False


class PlainText(BaseRenderer):
    media_type = "text/plain"
    format = "txt"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return str(data).encode()


class Metrics(View):
    of_process = True

    @extend_schema(operation_id="metrics", responses=answers({}) | {(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request) -> HttpResponse:
        """This web process's numbers and the cluster's in Prometheus' text format. Operators and viewers."""
        require("cluster.view_all", request)
        text = generate_latest(metrics.REGISTRY) + generate_latest(clustermetrics.COLLECTOR)
        return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


class Components(View):
    @extend_schema(operation_id="components", responses=answers({200: ComponentList}))
    def get(self, request: Request) -> Response:
        """Every part of the system, whether it does its duty, and what to do where not. Operators and viewers."""
        require("cluster.view_all", request)
        return whole(components.read())
