"""What a policy would do to the shares of now, before it is pushed."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.plans import PlanRequest
from contract.plans import PolicyPlan as PolicyPlanAnswer
from controlplane.router import policyplan

from .common import View, answers, body, require


class PolicyPlan(View):
    @extend_schema(
        operation_id="policy_plan",
        request=PlanRequest,
        responses=answers({200: PolicyPlanAnswer}, 413, 415),
    )
    def post(self, request: Request) -> Response:
        """What queues would get under a document; changes nothing. Operators and viewers."""
        require("cluster.view_all", request)
        return Response(policyplan.of(body(request, PlanRequest).document))
