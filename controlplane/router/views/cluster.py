"""Queues, sub-clusters, nodes, the overview, the audit log."""

import datetime as dt

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.router import shapes
from controlplane.statestore.actions import nodes as node_actions
from controlplane.statestore.actions.errors import NotFound
from controlplane.statestore.models import SubCluster
from controlplane.statestore.queries import audit, federation

from .common import PAGING, View, account, actor, answers, body, paged, require, text, text_parameter, whole


class Queues(View):
    @extend_schema(operation_id="queues_list", responses=answers({200: shapes.QueueList}))
    def get(self, request: Request) -> Response:
        """The queues of the policy in force, with their use over all sub-clusters."""
        return whole(federation.queues(account(request)))


class SubClusters(View):
    @extend_schema(operation_id="sub_clusters_list", responses=answers({200: shapes.SubClusterList}))
    def get(self, request: Request) -> Response:
        """Every sub-cluster: who leads it, its nodes, its load."""
        return whole(federation.sub_clusters())


class JoinTokens(View):
    @extend_schema(
        operation_id="join_tokens_create",
        request=shapes.JoinTokenRequest,
        responses=answers({201: shapes.JoinTokenInfo}, 415),
    )
    def post(self, request: Request, name: str) -> Response:
        """A token with which nodes register in this sub-cluster. It is shown this once. Operators only."""
        require("cluster.operate", request)
        sub_cluster = SubCluster.objects.filter(name=name).first()
        if sub_cluster is None:
            raise NotFound("there is no such sub-cluster")
        wanted = body(request, shapes.JoinTokenRequest)
        until = timezone.now() + dt.timedelta(seconds=wanted.valid_s) if wanted.valid_s else None
        token, secret = node_actions.new_join_token(actor(request), sub_cluster, wanted.note, until)
        answer = {"id": token.pk, "token": secret, "sub_cluster": sub_cluster.name, "expires_at": until}
        return Response(answer, status=201)


class Nodes(View):
    @extend_schema(
        operation_id="nodes_list",
        parameters=[text_parameter("sub_cluster"), text_parameter("name"), *PAGING],
        responses=answers({200: shapes.NodePage}),
    )
    def get(self, request: Request) -> Response:
        """The nodes, with what is allocated and used on each."""
        user, sub_cluster, name = account(request), text(request, "sub_cluster"), text(request, "name")
        return paged(request, 1, lambda at, size: federation.nodes_page(user, at, size, sub_cluster, name))


class NodeDetail(View):
    @extend_schema(operation_id="nodes_get", responses=answers({200: shapes.NodeInfo}))
    def get(self, request: Request, node_id: int) -> Response:
        """One node."""
        found = federation.node(account(request), node_id)
        if found is None:
            raise NotFound(f"there is no node {node_id}")
        return Response(found)


class Overview(View):
    @extend_schema(operation_id="overview", responses=answers({200: shapes.Overview}))
    def get(self, request: Request) -> Response:
        """The whole federation at a glance."""
        return Response(federation.overview(account(request)))


class Audit(View):
    @extend_schema(operation_id="audit_list", parameters=PAGING, responses=answers({200: shapes.AuditPage}))
    def get(self, request: Request) -> Response:
        """Who changed what, newest first. Operators only."""
        require("audit.view", request)
        return paged(request, 1, audit.list_page)
