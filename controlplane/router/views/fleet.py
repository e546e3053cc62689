"""The map of the fleet, and what runs on one node."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.fleet import Fleet
from contract.nodes import NodeContainerPage
from controlplane.statestore.queries.nodes import containers, fleet

from .common import PAGING, View, account, answers, paged
from .nodelife import node_of


class FleetMap(View):
    @extend_schema(operation_id="fleet_map", responses=answers({200: Fleet}))
    def get(self, request: Request) -> HttpResponse:
        """Every node in columns of small numbers, for maps of tens of thousands; `/nodes` tells more of each."""
        return HttpResponse(fleet.look(account(request)).whole(), content_type="application/json")


class NodeContainers(View):
    @extend_schema(operation_id="nodes_containers", parameters=PAGING, responses=answers({200: NodeContainerPage}))
    def get(self, request: Request, node_id: int) -> Response:
        """The live containers on a node, of the jobs one may see."""
        node_of(node_id)
        user = account(request)
        return paged(request, 1, lambda at, size: containers.list_page(user, node_id, at, size))
