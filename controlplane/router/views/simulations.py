"""What-if simulations: ask, follow, cancel, read. Operators ask, viewers read."""

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.simulations import SimulationDetail as SimulationDetailAnswer
from contract.simulations import SimulationPage, SimulationRequest
from controlplane.policy import versions
from controlplane.router import exporting, simulating
from controlplane.statestore.actions import simulations as actions
from controlplane.statestore.errors import Conflict
from controlplane.statestore.queries.policy import simulations

from .common import (
    PAGING,
    AnyAccept,
    View,
    actor,
    answers,
    body,
    existing,
    integer,
    moment,
    moment_parameter,
    number_parameter,
    paged,
    require,
)

VERSION = number_parameter("version", 1, 2**63 - 1, "Only of this policy version, or of a document that says the same")
# A page with pictures and styles of its own, and nothing else: no scripts, no address of ours, no frame around it.
SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


class Simulations(View):
    @extend_schema(
        operation_id="simulations_list",
        parameters=[VERSION, *PAGING],
        responses=answers({200: SimulationPage}),
    )
    def get(self, request: Request) -> Response:
        """What was asked, newest first, without the answers. Operators and viewers."""
        require("cluster.view_all", request)
        number = integer(request, "version", 0, 1, 2**63 - 1)
        only = (number, versions.digest_of(simulating.version(number))) if number else None
        return paged(request, 1, lambda at, size: simulations.listed(at, size, only))

    @extend_schema(
        operation_id="simulations_request",
        request=SimulationRequest,
        responses=answers({201: SimulationDetailAnswer}, 409, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """Replay a window of the recorded history under the policy in force and another one. Changes nothing else."""
        require("cluster.operate", request)
        asked = simulating.question(body(request, SimulationRequest))
        return Response(_one(actions.request(actor(request), asked).pk), status=201)


class History(View):
    content_negotiation_class = AnyAccept
    of_process = True

    @extend_schema(
        operation_id="simulations_history",
        parameters=[moment_parameter("from", "The window's begin; required"), moment_parameter("to", "Its end; now")],
        responses=answers({}, 409) | {(200, "application/gzip"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """What simulations replay of a window: its jobs as a history, JSON lines, gzipped. Operators only."""
        require("cluster.operate", request)
        return exporting.history(*simulating.kept(moment(request, "from"), moment(request, "to")))


class SimulationDetail(View):
    @extend_schema(operation_id="simulations_get", responses=answers({200: SimulationDetailAnswer}))
    def get(self, request: Request, simulation_id: int) -> Response:
        """How far it is, and once it is done what changes. Operators and viewers."""
        require("cluster.view_all", request)
        return Response(_one(simulation_id))


class SimulationCancel(View):
    @extend_schema(
        operation_id="simulations_cancel",
        request=None,
        responses=answers({200: SimulationDetailAnswer}, 409, 415),
    )
    def post(self, request: Request, simulation_id: int) -> Response:
        """Call it off; what computes stops within two seconds. Operators only."""
        require("cluster.operate", request)
        actions.cancel(actor(request), simulation_id)
        return Response(_one(simulation_id))


class SimulationReport(View):
    @extend_schema(
        operation_id="simulations_report",
        responses=answers({}, 409)
        | {(200, "text/html"): OpenApiResponse(OpenApiTypes.STR, description="A whole page")},
    )
    def get(self, request: Request, simulation_id: int) -> HttpResponse:
        """The answer as a page with pictures, to read, print or send. Operators and viewers."""
        require("cluster.view_all", request)
        found = existing(simulations.report(simulation_id), f"there is no simulation {simulation_id}")
        state, page = found
        if page is None:
            raise Conflict(f"simulation {simulation_id} is {state} and has no report; it has one once it is done")
        response = HttpResponse(page, content_type="text/html; charset=utf-8")
        response["Content-Security-Policy"] = SANDBOX
        response["Content-Disposition"] = f'inline; filename="simulation-{simulation_id}.html"'
        return response


def _one(number: int) -> dict[str, object]:
    return existing(simulations.one(number), f"there is no simulation {number}")
