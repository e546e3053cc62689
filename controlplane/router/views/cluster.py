"""Nodes, the overview, the audit log."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.nodes import Node, NodePage
from contract.subclusters import Overview as OverviewAnswer
from contract.system import AuditPage
from controlplane.router import unknown
from controlplane.statestore.errors import NotFound
from controlplane.statestore.models import SubCluster
from controlplane.statestore.queries.accounts import audit
from controlplane.statestore.queries.federation.overview import overview
from controlplane.statestore.queries.nodes import listing

from .common import PAGING, View, account, answers, existing, paged, require, text, text_parameter

AUDIT_FILTERS = [
    text_parameter("action", "Those that begin so, such as policy. or job.kill"),
    text_parameter("target", "Those that begin so, such as rollout/7"),
    text_parameter("actor", "By this account; system: by none"),
]


class Nodes(View):
    @extend_schema(
        operation_id="nodes_list",
        parameters=[
            text_parameter("sub_cluster"),
            text_parameter("name"),
            text_parameter("contains", "Only those whose name contains it"),
            *PAGING,
        ],
        responses=answers({200: NodePage}),
    )
    def get(self, request: Request) -> Response:
        """The nodes, with what is allocated and used on each."""
        user, sub_cluster, name = account(request), text(request, "sub_cluster"), text(request, "name")
        part = text(request, "contains")
        if sub_cluster and not SubCluster.objects.filter(name=sub_cluster).exists():
            raise NotFound(unknown.sub_cluster(sub_cluster))
        return paged(request, 1, lambda at, size: listing.list_page(user, at, size, sub_cluster, name, part))


class NodeDetail(View):
    @extend_schema(operation_id="nodes_get", responses=answers({200: Node}))
    def get(self, request: Request, node_id: int) -> Response:
        """One node."""
        return Response(existing(listing.one(account(request), node_id), f"there is no node {node_id}"))


class Overview(View):
    @extend_schema(operation_id="overview", responses=answers({200: OverviewAnswer}))
    def get(self, request: Request) -> Response:
        """The whole federation at a glance."""
        return Response(overview(account(request)))


class Audit(View):
    @extend_schema(operation_id="audit_list", parameters=[*AUDIT_FILTERS, *PAGING], responses=answers({200: AuditPage}))
    def get(self, request: Request) -> Response:
        """Who changed what, newest first. Operators and viewers."""
        require("cluster.view_all", request)
        wanted = {name: text(request, name) or "" for name in ("action", "target", "actor")}
        return paged(request, 1, lambda at, size: audit.list_page(at, size, **wanted))
