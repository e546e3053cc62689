"""Who a node is: ``Authorization: Node <number>:<credential>``, checked against the hash at every request."""

from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from controlplane.statestore.actions.credentials import hashed
from controlplane.statestore.models import NodeCredential
from wire.nodeapi import AUTH_SCHEME


@dataclass(frozen=True, slots=True)
class NodePrincipal:
    """The node behind a request. ``sha256``: hash of its credential, which Redis takes as well."""

    node_id: int
    sub_cluster_id: int
    sha256: str
    is_authenticated: bool = True
    is_active: bool = True
    pk: None = None  # no account


def node_behind(header: bytes) -> NodePrincipal | None:
    """The node by its ``Authorization``; None of another scheme, ``AuthenticationFailed`` when unknown. One query."""
    scheme, _, rest = header.partition(b" ")
    if scheme != AUTH_SCHEME.encode():
        return None
    number, _, secret = rest.strip().partition(b":")
    if not (number.isdigit() and len(number) < 19 and 0 < len(secret) < 200):
        raise AuthenticationFailed("the credential is malformed")
    row = (
        NodeCredential.objects.filter(node_id=int(number), revoked_at=None)
        .values_list("sha256", "node__sub_cluster_id", named=True)
        .first()
    )
    if row is None or not compare_digest(row.sha256, hashed(secret.decode("latin1"))):
        raise AuthenticationFailed("the credential is unknown or revoked; register the node again")
    return NodePrincipal(int(number), row.node__sub_cluster_id, row.sha256)


class NodeAuthentication(BaseAuthentication):
    """One query; unknown, wrong and revoked are answered alike."""

    def authenticate(self, request: Request) -> tuple[NodePrincipal, None] | None:
        found = node_behind(get_authorization_header(request))
        return (found, None) if found else None

    def authenticate_header(self, request: Request) -> str:
        return AUTH_SCHEME


class IsNode(BasePermission):
    """Nodes only; no account, whatever its role, speaks for a node."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, NodePrincipal)
