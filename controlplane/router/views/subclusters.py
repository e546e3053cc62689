"""Sub-clusters: how each stands, and what operators do with them from joining to leaving."""

import datetime as dt
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from contract.nodes import MONTH_S, DutyRequest
from contract.subclusters import (
    JoinToken,
    JoinTokenRequest,
    SubClusterDrainRequest,
    SubClusterList,
    SubClusterRegistered,
    SubClusterRegistration,
    SubClusterToken,
    SubClusterTokenRequest,
)
from contract.subclusters import SubClusterDetail as SubClusterDetailAnswer
from contract.subclusters import SubClusterDrainPreview as SubClusterDrainPreviewAnswer
from controlplane import clock
from controlplane.accounts.throttles import Join
from controlplane.policy.federation import reaches
from controlplane.router import unknown
from controlplane.statestore.actions import joining, subclusters
from controlplane.statestore.actions import nodes as node_actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.errors import NotFound
from controlplane.statestore.models import PolicyVersion, SubCluster
from controlplane.statestore.queries.drains.rooms import Reach
from controlplane.statestore.queries.drains.subcluster import preview
from controlplane.statestore.queries.subclusters import listing

from .common import SMALL, View, account, actor, answers, body, integer, number_parameter, require, whole

ONE = answers({200: SubClusterDetailAnswer}, 409, 415)
DEADLINE = number_parameter("deadline_s", 0, MONTH_S, "From now; without it nothing is stopped")


def row_of(name: str) -> SubCluster:
    found = SubCluster.objects.filter(name=name).first() if "\0" not in name else None
    if found is None:
        raise NotFound(unknown.sub_cluster(name))
    return found


def answer(request: Request, name: str) -> Response:
    found = listing.sub_cluster(account(request), name)
    if found is None:
        raise NotFound(unknown.sub_cluster(name))
    return Response(found)


def reach_of_queues() -> Reach:
    """To which sub-clusters the policy in force lets tasks of a queue's jobs go; the first of them is their home."""
    document = PolicyVersion.objects.filter(active=True).values_list("document", flat=True).first()
    return reaches(document, dict(SubCluster.objects.values_list("name", "pk")))


class SubClusters(View):
    @extend_schema(operation_id="sub_clusters_list", responses=answers({200: SubClusterList}))
    def get(self, request: Request) -> Response:
        """Every sub-cluster: who leads it, its nodes, its load."""
        return whole(listing.sub_clusters(account(request)))


class SubClusterDetail(View):
    @extend_schema(operation_id="sub_clusters_get", responses=answers({200: SubClusterDetailAnswer}))
    def get(self, request: Request, name: str) -> Response:
        """One sub-cluster."""
        row_of(name)
        return answer(request, name)


class SubClusterTokens(View):
    @extend_schema(
        operation_id="sub_cluster_tokens_create",
        request=SubClusterTokenRequest,
        responses=answers({201: SubClusterToken}, 409, 415),
    )
    def post(self, request: Request) -> Response:
        """A token that registers one new sub-cluster, once. It is shown this once. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, SubClusterTokenRequest)
        row, secret = joining.new_token(actor(request), wanted.name, wanted.note, wanted.valid_s)
        return Response({"id": row.pk, "token": secret, "name": row.name, "expires_at": row.expires_at}, status=201)


class SubClusterRegister(View):
    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []
    throttle_classes = [Join]
    body_max = SMALL

    @extend_schema(
        operation_id="sub_clusters_register",
        auth=[],
        request=SubClusterRegistration,
        responses=answers({201: SubClusterRegistered}, 409, 415),
    )
    def post(self, request: Request) -> Response:
        """A new sub-cluster, by the token alone. It runs once a worker leads it and a node of it is up."""
        wanted = body(request, SubClusterRegistration)
        made = joining.register(wanted.token, wanted.name, Actor(None, request.META.get("REMOTE_ADDR") or None))
        row = made.sub_cluster
        answer = {"id": row.pk, "name": row.name, "state": row.state, "queue": f"rm.{row.name}"}
        joins = {"join_token": made.join_token, "join_token_expires_at": made.expires_at}
        return Response(answer | joins, status=201)


class JoinTokens(View):
    @extend_schema(
        operation_id="join_tokens_create",
        request=JoinTokenRequest,
        responses=answers({201: JoinToken}, 415),
    )
    def post(self, request: Request, name: str) -> Response:
        """A token with which new nodes register in this sub-cluster, or one of that name, once.

        It is shown this once. Operators only.
        """
        require("cluster.operate", request)
        sub_cluster = row_of(name)
        wanted = body(request, JoinTokenRequest)
        until = clock.now() + dt.timedelta(seconds=wanted.valid_s)
        token, secret = node_actions.new_join_token(actor(request), sub_cluster, wanted.note, until, wanted.node)
        answer = {"id": token.pk, "token": secret, "sub_cluster": sub_cluster.name, "node": token.node}
        answer["expires_at"] = until
        return Response(answer, status=201)


class SubClusterDrainPreview(View):
    @extend_schema(
        operation_id="sub_clusters_drain_preview",
        parameters=[DEADLINE],
        responses=answers({200: SubClusterDrainPreviewAnswer}),
    )
    def get(self, request: Request, name: str) -> Response:
        """What a drain would do now. Operators and viewers."""
        require("cluster.view_all", request)
        limit = integer(request, "deadline_s", -1, 0, MONTH_S)
        return Response(preview(row_of(name), None if limit < 0 else limit, reach_of_queues()))


class SubClusterDrain(View):
    @extend_schema(operation_id="sub_clusters_drain", request=SubClusterDrainRequest, responses=ONE)
    def post(self, request: Request, name: str) -> Response:
        """Nothing new is sent there; services leave at once, the rest may end until the deadline. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, SubClusterDrainRequest)
        subclusters.drain(actor(request), row_of(name), wanted.deadline_s, wanted.message)
        return answer(request, name)


class SubClusterResume(View):
    @extend_schema(operation_id="sub_clusters_resume", request=DutyRequest, responses=ONE)
    def post(self, request: Request, name: str) -> Response:
        """End the drain. Operators only."""
        require("cluster.operate", request)
        subclusters.resume(actor(request), row_of(name), body(request, DutyRequest).message)
        return answer(request, name)


class SubClusterDecommission(View):
    @extend_schema(operation_id="sub_clusters_decommission", request=DutyRequest, responses=ONE)
    def post(self, request: Request, name: str) -> Response:
        """It leaves for good; refused while something is left there. Operators only."""
        require("cluster.operate", request)
        subclusters.decommission(actor(request), row_of(name), body(request, DutyRequest).message)
        return answer(request, name)
