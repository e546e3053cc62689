"""Who an application master is: a token that names its container, good while that is its job's newest attempt.

Stateless: the container's id and a MAC under a key of the federation. What it
opens ends with the container's row, so nothing has to be revoked.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from controlplane.accounts.throttles import Rate
from controlplane.statestore.errors import Forbidden
from wire.ids import format_container, parse_container
from wire.states import TERMINAL

SCHEME = "Bearer"
_MAC_CHARS = 40
_CURRENT = f"""
SELECT c.job_id, c.attempt, j.owner_id, u.is_active AND u.role <> 'viewer'
  FROM statestore_container c JOIN statestore_job j ON j.id = c.job_id JOIN accounts_user u ON u.id = j.owner_id
 WHERE c.id = %s AND c.group_no = 0 AND j.kind = 'application' AND j.state < {TERMINAL}
   AND NOT EXISTS (SELECT 1 FROM statestore_container n
                    WHERE n.job_id = c.job_id AND n.group_no = 0 AND n.attempt > c.attempt)
"""


@dataclass(frozen=True, slots=True)
class MasterPrincipal:
    """The master behind a request: the newest attempt of an application that lives.

    may_want: whether its owner may still have something started: what is given to a master comes from him.
    """

    job_id: int
    container_id: int
    attempt: int
    owner_id: int
    may_want: bool = True
    is_authenticated: bool = True
    is_active: bool = True
    pk: None = None  # no account


def signed(container: str, secret: str) -> str:
    """``am.<container>.<mac>``. secret: the federation's ``HYDRA_SECRET_KEY``."""
    key = hmac.digest(secret.encode(), b"application masters", hashlib.sha256)
    mac = hmac.new(key, container.encode(), hashlib.sha256).hexdigest()[:_MAC_CHARS]
    return f"am.{container}.{mac}"


def token(container_id: int) -> str:
    """What the master in this container speaks with."""
    return signed(format_container(container_id), settings.SECRET_KEY)


def container_of(text: str) -> int:
    """The container a token was made for; ``AuthenticationFailed`` unless it was made here."""
    container = text.removeprefix("am.").rpartition(".")[0]
    if not (text.isascii() and hmac.compare_digest(text, signed(container, settings.SECRET_KEY))):
        raise AuthenticationFailed("the token is not one of an application master; it is in HYDRA_AM_TOKEN")
    return parse_container(container)


def principal(container_id: int) -> MasterPrincipal:
    """The master in this container; ``Forbidden`` when it is over or not the newest attempt. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_CURRENT, (container_id,))
        row = cursor.fetchone()
    if row is None:
        raise Forbidden("this application master has ended, or another attempt has taken its place")
    job_id, attempt, owner_id, may_want = row
    return MasterPrincipal(job_id, container_id, attempt, owner_id, may_want)


class MasterAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``."""

    def authenticate(self, request: Request) -> tuple[MasterPrincipal, None] | None:
        scheme, _, rest = get_authorization_header(request).partition(b" ")
        if scheme.lower() != SCHEME.lower().encode():
            return None
        return principal(container_of(rest.strip().decode("latin1"))), None

    def authenticate_header(self, request: Request) -> str:
        return SCHEME


class MasterScheme(OpenApiAuthenticationExtension):
    target_class = "controlplane.router.masterauth.MasterAuthentication"
    name = "master"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "HYDRA_AM_TOKEN of an application master"}


class IsMaster(BasePermission):
    """Application masters only; no account, whatever its role, speaks for one."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, MasterPrincipal)


class ByMaster(Rate):
    """Requests of one application master, whatever it asks."""

    scope = "master"

    def get_cache_key(self, request: Request, view: Any) -> str:
        if isinstance(request.user, MasterPrincipal):
            return f"throttle:master:{request.user.job_id}"
        return f"throttle:master:{self.get_ident(request)}"
