"""The policy document and its versions, and rights in queues."""

import re
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.policies import PolicyChecked, PolicyCheckRequest, PolicyDetail, PolicyPage, PolicyRequest, ProposalDetail
from contract.problems import FieldError
from contract.queues import QueueRightList, QueueRightRequest
from controlplane.accounts.models import QueueAccess, User
from controlplane.policy import changes, documents, listing, rights
from controlplane.router import cluster, unknown
from controlplane.statestore.actions import accounts
from controlplane.statestore.errors import Invalid, NotFound
from controlplane.statestore.queries.policy import versions

from .common import (
    PAGING,
    View,
    actor,
    answers,
    body,
    existing,
    integer,
    number_parameter,
    paged,
    require,
    text,
    text_parameter,
    whole,
)

_TAG = re.compile(r'(?:W/)?"(\d{1,18})"')
MATCH = text_parameter(
    "If-Match",
    "The ETag of the version the document was made from; 412 when another one is in force",
    OpenApiParameter.HEADER,
    pattern=r'^(\*|"\d{1,18}")$',
)
USER = OpenApiParameter(
    "user", {"type": "string", "minLength": 1, "maxLength": 150, "pattern": r"^[^\x00]+$"}, required=True
)
PATH = text_parameter("path", "The queue's path, such as root.prod", OpenApiParameter.PATH)


def parent_of(request: Request, named: int | None) -> int | None:
    """The version a document was made from, as the header or the body says."""
    tag = request.headers.get("If-Match")
    if tag is None or tag == "*":
        return named
    found = _TAG.fullmatch(tag)
    if not found:
        wrong = FieldError("If-Match", "is not an ETag of a policy", "repeat the ETag of GET /api/v1/policy")
        raise Invalid("a header has an error", [wrong])
    return int(found[1])


def tagged(found: dict[str, Any], status: int = 200) -> Response:
    return Response(found, status=status, headers={"ETag": f'"{found["version"]}"'})


class Policy(View):
    @extend_schema(
        operation_id="policy_get",
        parameters=[number_parameter("version", 1, 2**63 - 1, "This version instead of the one in force")],
        responses=answers({200: PolicyDetail}),
    )
    def get(self, request: Request) -> Response:
        """The policy in force. Operators and viewers."""
        require("cluster.view_all", request)
        found = versions.version(integer(request, "version", 0, 1, 2**63 - 1) or None)
        return tagged(existing(found, "there is no such policy version; hydractl policy versions lists them"))

    @extend_schema(
        operation_id="policy_publish",
        parameters=[MATCH],
        request=PolicyRequest,
        responses=answers({200: PolicyDetail, 201: PolicyDetail, 202: ProposalDetail}, 409, 412, 415),
    )
    def post(self, request: Request) -> Response:
        """Put a document in force everywhere, as a new version. Operators only.

        200: the version in force says all of it already. 202: the policy in force wants another operator's approval.
        """
        require("cluster.operate", request)
        asked = body(request, PolicyRequest)
        parent = parent_of(request, asked.parent)
        return outcome(changes.push(actor(request), asked.document, asked.message, parent=parent, force=asked.force))


def outcome(found: changes.ChangeOutcome) -> Response:
    """201 with the new version, 200 with the one that said all this before, or 202 with the proposal."""
    if found.proposal:
        return Response(listing.proposal(found.proposal.pk), status=202)
    cluster.forget()
    version = versions.version(found.version)
    assert version is not None
    return tagged(version, 201 if found.changed else 200)


class PolicyVersions(View):
    @extend_schema(operation_id="policy_versions", parameters=PAGING, responses=answers({200: PolicyPage}))
    def get(self, request: Request) -> Response:
        """Every version, newest first, without the documents. Operators and viewers."""
        require("cluster.view_all", request)
        return paged(request, 1, versions.list_page)


class PolicyValidate(View):
    @extend_schema(
        operation_id="policy_validate",
        request=PolicyCheckRequest,
        responses=answers({200: PolicyChecked}, 415),
    )
    def post(self, request: Request) -> Response:
        """Check a document without putting it in force. Operators and viewers."""
        require("cluster.view_all", request)
        document, rows = documents.validate(body(request, PolicyCheckRequest).document)
        return Response({"queues": len(rows), "warnings": rights.unheld(rows), "document": document})


class PolicySchema(View):
    @extend_schema(operation_id="policy_schema", responses=answers({200: dict[str, Any]}))
    def get(self, request: Request) -> Response:
        """JSON Schema of the policy document, with the bounds and defaults of every component."""
        return Response(documents.json_schema())


class QueueRights(View):
    @extend_schema(operation_id="queue_rights", parameters=[PATH], responses=answers({200: QueueRightList}))
    def get(self, request: Request, path: str) -> Response:
        """Who may use or administer the queue, through it or one above it. Operators and viewers."""
        require("cluster.view_all", request)
        _existing(path)
        return whole(versions.rights(path))

    @extend_schema(
        operation_id="queue_rights_grant",
        parameters=[PATH],
        request=QueueRightRequest,
        responses=answers({200: QueueRightList}, 415),
    )
    def put(self, request: Request, path: str) -> Response:
        """Let an account use the queue and all below it, or administer it. Operators only."""
        require("cluster.operate", request)
        asked = body(request, QueueRightRequest)
        _existing(path)
        accounts.grant_queue(actor(request), _user(asked.user), path, QueueAccess.Level(asked.level))
        return whole(versions.rights(path))

    @extend_schema(
        operation_id="queue_rights_withdraw",
        parameters=[PATH, USER],
        responses=answers({204: None}),
    )
    def delete(self, request: Request, path: str) -> Response:
        """Take back what was granted to an account. Operators only."""
        require("cluster.operate", request)
        if "\0" in path:
            raise NotFound("there is no such queue")
        accounts.withdraw_queue(actor(request), _user(text(request, "user") or ""), path)
        return Response(status=204)


def _existing(path: str) -> None:
    if "\0" in path or not versions.queue_exists(path):
        raise NotFound(unknown.queue(path))


def _user(name: str) -> User:
    found = User.objects.filter(username=name).first()
    if found is None:
        wrong = FieldError("user", f"there is no account {name[:64]!r}", "give an account's name")
        raise Invalid("there is no such account", [wrong])
    return found
