"""How far policy versions have spread, and their rollouts in stages."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.policies import ProposalDetail
from contract.rollouts import Convergence, Rollout, RolloutOrder, RolloutPage, RolloutRequest
from controlplane.policy import listing, rolloutorders
from controlplane.policy import rollouts as driver
from controlplane.statestore.queries.policy import convergence, rollouts

from .common import PAGING, View, actor, answers, body, existing, integer, number_parameter, paged, require
from .policy import MATCH, parent_of

VERSION = number_parameter("version", 1, 2**63 - 1, "This version instead of the one last pushed to any part")
ORDERED = answers({200: Rollout}, 409, 415)


class PolicyConvergence(View):
    @extend_schema(operation_id="policy_convergence", parameters=[VERSION], responses=answers({200: Convergence}))
    def get(self, request: Request) -> Response:
        """Who runs a policy version, and how long that took. Operators and viewers."""
        require("cluster.view_all", request)
        found = convergence.read(integer(request, "version", 0, 1, 2**63 - 1) or None)
        return Response(existing(found, "there is no such policy version; hydractl policy versions lists them"))


class Rollouts(View):
    @extend_schema(operation_id="policy_rollouts", parameters=PAGING, responses=answers({200: RolloutPage}))
    def get(self, request: Request) -> Response:
        """Every rollout, newest first. Operators and viewers."""
        require("cluster.view_all", request)
        return paged(request, 1, rollouts.list_page)

    @extend_schema(
        operation_id="policy_rollout_create",
        parameters=[MATCH],
        request=RolloutRequest,
        responses=answers({201: Rollout, 202: ProposalDetail}, 409, 412, 415),
    )
    def post(self, request: Request) -> Response:
        """Put a document in force in stages, guarded by metrics. Operators only.

        Components that concern one sub-cluster change stage by stage; queues, partitions, access, routing, shares and
        admission after the last one, everywhere at once; a last stage that says `everywhere` watches those too.
        202: the policy in force wants another operator's approval.
        """
        require("cluster.operate", request)
        asked = body(request, RolloutRequest)
        plan = rolloutorders.RolloutPlan([stage.model_dump() for stage in asked.stages], asked.guards, asked.on_breach)
        parent = parent_of(request, asked.parent)
        found = rolloutorders.begin(actor(request), asked.document, asked.message, plan, parent=parent)
        if found.proposal:
            return Response(listing.proposal(found.proposal.pk), status=202)
        assert found.rollout is not None
        driver.step()  # it need not wait for the next look
        return Response(rollouts.detail(found.rollout.pk), status=201)


class RolloutDetail(View):
    @extend_schema(operation_id="policy_rollout", responses=answers({200: Rollout}))
    def get(self, request: Request, rollout_id: int) -> Response:
        """One rollout. Operators and viewers."""
        require("cluster.view_all", request)
        return Response(existing(rollouts.detail(rollout_id), f"there is no rollout {rollout_id}"))


class RolloutPause(View):
    @extend_schema(operation_id="policy_rollout_pause", request=RolloutOrder, responses=ORDERED)
    def post(self, request: Request, rollout_id: int) -> Response:
        """Tell nobody else; what runs the version goes on. Operators only."""
        require("cluster.operate", request)
        rolloutorders.pause(actor(request), rollout_id, body(request, RolloutOrder).message)
        return Response(rollouts.detail(rollout_id))


class RolloutResume(View):
    @extend_schema(operation_id="policy_rollout_resume", request=RolloutOrder, responses=ORDERED)
    def post(self, request: Request, rollout_id: int) -> Response:
        """Go on with the stage it is in, which is watched anew. Operators only."""
        require("cluster.operate", request)
        rolloutorders.resume(actor(request), rollout_id, body(request, RolloutOrder).message)
        return Response(rollouts.detail(rollout_id))


class RolloutAbort(View):
    @extend_schema(operation_id="policy_rollout_abort", request=RolloutOrder, responses=ORDERED)
    def post(self, request: Request, rollout_id: int) -> Response:
        """Put the old content in force again, as a new version. Operators only."""
        require("cluster.operate", request)
        rolloutorders.abort(actor(request), rollout_id, body(request, RolloutOrder).message)
        return Response(rollouts.detail(rollout_id))
