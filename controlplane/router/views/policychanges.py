"""Changes of the policy: looked at before, rolled back, approved by a second operator, and made for a time."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.policies import (
    DecisionRequest,
    DiffRequest,
    OverridePage,
    OverrideRequest,
    PolicyDetail,
    PolicyOverride,
    PolicyRollbackRequest,
    ProposalDetail,
    ProposalPage,
)
from contract.policies import PolicyDiff as PolicyDiffAnswer
from contract.problems import FieldError
from controlplane.policy import changes, decisions, listing, overrides
from controlplane.policy.diff import Change, staged, worst
from controlplane.router import cluster
from controlplane.statestore.errors import Invalid

from .common import PAGING, View, actor, answers, body, choice, existing, paged, require, text_parameter
from .policy import MATCH, outcome, parent_of

MOST = 1000  # changes in one answer
_ALL = {"yes": True, "no": False}
ALL = text_parameter("all", "yes: also those that are decided or over", enum=list(_ALL))
PROPOSED = answers({200: ProposalDetail}, 409, 412, 415)


def _told(found: list[Change]) -> list[dict[str, Any]]:
    return [asdict(change) for change in found[:MOST]]


class PolicyDiff(View):
    @extend_schema(
        operation_id="policy_diff",
        request=DiffRequest,
        responses=answers({200: PolicyDiffAnswer}, 415),
    )
    def post(self, request: Request) -> Response:
        """What changes from one version to another, or to a document. Operators and viewers."""
        require("cluster.view_all", request)
        asked = body(request, DiffRequest)
        if asked.document is not None and asked.second is not None:
            wrong = FieldError("to", "stands beside a document", "give one of to and document")
            raise Invalid("the request has errors", [wrong])
        found = changes.compare(asked.first, asked.second, asked.document)
        return Response(
            {
                "from": found.first,
                "to": found.second,
                "identical": not found.changes,
                "severity": worst(found.changes),
                "total": len(found.changes),
                "staged": sum(map(staged, found.changes)),
                "changes": _told(found.changes),
                "overridden": _told(found.overridden),
                "warnings": found.warnings,
            }
        )


class PolicyRollback(View):
    @extend_schema(
        operation_id="policy_rollback",
        parameters=[MATCH],
        request=PolicyRollbackRequest,
        responses=answers({200: PolicyDetail, 201: PolicyDetail, 202: ProposalDetail}, 409, 412, 415),
    )
    def post(self, request: Request) -> Response:
        """Put the content of an older version in force, as a new one. Operators only."""
        require("cluster.operate", request)
        asked = body(request, PolicyRollbackRequest)
        parent = parent_of(request, asked.parent)
        return outcome(changes.rollback(actor(request), asked.version, asked.message, parent=parent, force=asked.force))


class PolicyProposals(View):
    @extend_schema(
        operation_id="policy_proposals",
        parameters=[ALL, *PAGING],
        responses=answers({200: ProposalPage}),
    )
    def get(self, request: Request) -> Response:
        """Changes that wait for a second operator, newest first. Operators and viewers."""
        require("cluster.view_all", request)
        everything = bool(choice(request, "all", _ALL))
        return paged(request, 1, lambda at, size: listing.proposals_page(at, size, everything))


class PolicyProposal(View):
    @extend_schema(operation_id="policy_proposal", responses=answers({200: ProposalDetail}))
    def get(self, request: Request, proposal_id: int) -> Response:
        """One proposal with all it would do. Operators and viewers."""
        require("cluster.view_all", request)
        return Response(existing(listing.proposal(proposal_id), f"there is no proposal {proposal_id}"))


class PolicyApprove(View):
    @extend_schema(operation_id="policy_proposal_approve", request=DecisionRequest, responses=PROPOSED)
    def post(self, request: Request, proposal_id: int) -> Response:
        """Carry a proposal of somebody else out. 412 when another version is in force than it was made from."""
        require("cluster.operate", request)
        decisions.approve(actor(request), proposal_id, body(request, DecisionRequest).message)
        cluster.forget()
        return Response(listing.proposal(proposal_id))


class PolicyReject(View):
    @extend_schema(operation_id="policy_proposal_reject", request=DecisionRequest, responses=PROPOSED)
    def post(self, request: Request, proposal_id: int) -> Response:
        """Refuse a proposal, or take one's own back. Operators only."""
        require("cluster.operate", request)
        decisions.reject(actor(request), proposal_id, body(request, DecisionRequest).message)
        return Response(listing.proposal(proposal_id))


class PolicyOverrides(View):
    @extend_schema(
        operation_id="policy_overrides",
        parameters=[ALL, *PAGING],
        responses=answers({200: OverridePage}),
    )
    def get(self, request: Request) -> Response:
        """Temporary overrides that hold or will, newest first. Operators and viewers."""
        require("cluster.view_all", request)
        everything = bool(choice(request, "all", _ALL))
        return paged(request, 1, lambda at, size: listing.overrides_page(at, size, everything))

    @extend_schema(
        operation_id="policy_override_add",
        request=OverrideRequest,
        responses=answers({201: PolicyOverride, 202: ProposalDetail}, 409, 415),
    )
    def post(self, request: Request) -> Response:
        """Give a field of a queue another value for a time. Operators only."""
        require("cluster.operate", request)
        asked = body(request, OverrideRequest)
        fields = {name: getattr(asked, name) for name in type(asked).model_fields if name != "change"}
        found = changes.override(actor(request), overrides.NewOverride(**fields, change=asked.change.model_dump()))
        if found.override is None:
            return outcome(found)
        cluster.forget()
        return Response(listing.override(found.override.pk), status=201)


class OverrideCancel(View):
    @extend_schema(
        operation_id="policy_override_cancel",
        request=None,
        responses=answers({200: PolicyOverride}, 409, 415),
    )
    def post(self, request: Request, override_id: int) -> Response:
        """End an override now, or call it off. Operators only; needs no second one."""
        require("cluster.operate", request)
        overrides.cancel(actor(request), override_id)
        cluster.forget()
        return Response(listing.override(override_id))
