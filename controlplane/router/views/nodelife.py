"""Operators take nodes out of service and back: duties, drains with a preview, maintenance windows."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.nodes import (
    MONTH_S,
    DecommissionRequest,
    DrainPreview,
    DrainRequest,
    DutyRequest,
    MaintenanceList,
    MaintenanceRequest,
)
from contract.nodes import Maintenance as MaintenanceAnswer
from contract.nodes import Node as NodeAnswer
from controlplane.router import unknown
from controlplane.statestore.actions import duty, maintenance, nodes
from controlplane.statestore.errors import NotFound
from controlplane.statestore.models import MaintenanceWindow, Node, SubCluster
from controlplane.statestore.queries.drains.node import preview
from controlplane.statestore.queries.nodes import listing
from controlplane.statestore.queries.nodes.maintenance import as_json, listed, nodes_of

from .common import View, account, actor, answers, body, existing, integer, number_parameter, require, whole
from .subclusters import reach_of_queues

NODE = answers({200: NodeAnswer}, 409, 415)
DEADLINE = number_parameter("deadline_s", 0, MONTH_S, "From now; without it nothing is stopped")


def node_of(node_id: int) -> Node:
    found = Node.objects.filter(pk=node_id).first() if 0 < node_id < 2**63 else None
    return existing(found, f"there is no node {node_id}")


def answer(request: Request, node_id: int) -> Response:
    return Response(listing.one(account(request), node_id))


class NodeCordon(View):
    @extend_schema(operation_id="nodes_cordon", request=DutyRequest, responses=NODE)
    def post(self, request: Request, node_id: int) -> Response:
        """No new containers; what runs there runs on. Operators only."""
        require("cluster.operate", request)
        duty.cordon(actor(request), node_of(node_id), body(request, DutyRequest).message)
        return answer(request, node_id)


class NodeUncordon(View):
    @extend_schema(operation_id="nodes_uncordon", request=DutyRequest, responses=NODE)
    def post(self, request: Request, node_id: int) -> Response:
        """Back to work, whatever it was taken out for. Operators only."""
        require("cluster.operate", request)
        duty.uncordon(actor(request), node_of(node_id), body(request, DutyRequest).message)
        return answer(request, node_id)


class NodeDrain(View):
    @extend_schema(
        operation_id="nodes_drain_preview",
        parameters=[DEADLINE],
        responses=answers({200: DrainPreview}),
    )
    def get(self, request: Request, node_id: int) -> Response:
        """What a drain would do now. Operators and viewers."""
        require("cluster.view_all", request)
        limit = integer(request, "deadline_s", -1, 0, MONTH_S)
        return Response(preview(node_of(node_id), None if limit < 0 else limit, reach_of_queues()))

    @extend_schema(operation_id="nodes_drain", request=DrainRequest, responses=NODE)
    def post(self, request: Request, node_id: int) -> Response:
        """Empty the node: services move at once, the rest may end by itself until the deadline. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, DrainRequest)
        duty.drain(actor(request), node_of(node_id), wanted.deadline_s, wanted.message)
        return answer(request, node_id)


class NodeDecommission(View):
    @extend_schema(operation_id="nodes_decommission", request=DecommissionRequest, responses=NODE)
    def post(self, request: Request, node_id: int) -> Response:
        """Drain the node; once it is empty, its credential ends and it is gone for good. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, DecommissionRequest)
        found = duty.decommission(actor(request), node_of(node_id), wanted.deadline_s, wanted.message)
        if wanted.now:
            nodes.decommission(actor(request), found)
        return answer(request, node_id)


class Maintenance(View):
    @extend_schema(operation_id="maintenance_list", responses=answers({200: MaintenanceList}))
    def get(self, request: Request) -> Response:
        """Maintenance windows that are planned or active, the next one first."""
        return whole(listed(account(request)))

    @extend_schema(
        operation_id="maintenance_add",
        request=MaintenanceRequest,
        responses=answers({201: MaintenanceAnswer}, 415),
    )
    def post(self, request: Request) -> Response:
        """Plan a window. Services leave its nodes from ``lead_s`` before its start on. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, MaintenanceRequest)
        sub_cluster = SubCluster.objects.filter(name=wanted.sub_cluster).first()
        if sub_cluster is None:
            raise NotFound(unknown.sub_cluster(wanted.sub_cluster))
        new = maintenance.NewWindow(**wanted.model_dump(exclude={"sub_cluster"}))
        row = maintenance.add(actor(request), sub_cluster, new)
        return Response(as_json(row, nodes_of([sub_cluster.pk])), status=201)


class MaintenanceCancel(View):
    @extend_schema(
        operation_id="maintenance_cancel",
        request=None,
        responses=answers({200: MaintenanceAnswer}, 409, 415),
    )
    def post(self, request: Request, window_id: int) -> Response:
        """The window is off; its nodes take work again at once. Operators only."""
        require("cluster.operate", request)
        row = MaintenanceWindow.objects.filter(pk=window_id).first() if 0 < window_id < 2**63 else None
        if row is None:
            raise NotFound(f"there is no maintenance window {window_id}")
        maintenance.cancel(actor(request), row)
        row = MaintenanceWindow.objects.select_related("sub_cluster", "created_by").get(pk=window_id)
        return Response(as_json(row, nodes_of([row.sub_cluster_id])))
