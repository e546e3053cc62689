"""Traces for what-if simulations: handed in once, and simulated as often as somebody likes."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.simulations import SimulationTrace, SimulationTracePage
from controlplane.router import handedin
from controlplane.statestore.actions import simulationtraces as actions
from controlplane.statestore.queries.policy import simulationtraces

from .artifacts import RawBody
from .common import View, actor, answers, existing, require, text_parameter, whole

KINDS = ("history", "openb", "philly", "sls", "swf")
OPTIONS = text_parameter("options", 'Of the kind\'s reader, a JSON object such as {"queue": "root.a"}')
PARAMETERS = [
    text_parameter("kind", "What the file is; history by default", enum=list(KINDS)),
    text_parameter("name", "What to call it, such as the file's name"),
    OPTIONS,
]
FILE = {"application/octet-stream": OpenApiTypes.BINARY}


class SimulationTraces(View):
    parser_classes = [RawBody]
    body_max = handedin.BODY_MAX

    @extend_schema(operation_id="simulation_traces_list", responses=answers({200: SimulationTracePage}))
    def get(self, request: Request) -> Response:
        """What was handed in and is kept, newest first. Operators and viewers."""
        require("cluster.view_all", request)
        return whole(simulationtraces.listed())

    @extend_schema(
        operation_id="simulation_traces_add",
        parameters=PARAMETERS,
        request=FILE,
        responses=answers({201: SimulationTrace}, 413),
    )
    def post(self, request: Request) -> Response:
        """Hand in a log, a trace or a history, plain or gzipped, and have it read. Operators only."""
        require("cluster.operate", request)
        query = request.query_params
        kind = _kind(query.get("kind"))
        name, options = handedin.checked_name(query.get("name")), handedin.checked_options(query.get("options"))
        row = actions.add(actor(request), handedin.jobs(request, kind, name, options))
        return Response(_one(row.pk), status=201)


class SimulationTraceNodes(View):
    parser_classes = [RawBody]
    body_max = handedin.BODY_MAX

    @extend_schema(
        operation_id="simulation_traces_nodes",
        parameters=[OPTIONS],
        request=FILE,
        responses=answers({200: SimulationTrace}, 409, 413),
    )
    def put(self, request: Request, trace_id: int) -> Response:
        """Hand in the nodes that a trace ran on, a file of the trace's own kind. Operators only."""
        require("cluster.operate", request)
        kind = str(_one(trace_id)["kind"])
        found = handedin.nodes(request, kind, handedin.checked_options(request.query_params.get("options")))
        actions.put_nodes(actor(request), trace_id, found)
        return Response(_one(trace_id))


def _kind(text: str | None) -> str:
    found = text or KINDS[0]
    if found not in KINDS:
        raise handedin.wrong("kind", f"{found[:30]!r} is no kind of trace", f"use one of: {', '.join(KINDS)}")
    return found


def _one(number: int) -> dict[str, object]:
    return existing(simulationtraces.one(number), f"there is no trace {number}")
