"""Tokens of programs. knox stores them hashed; this class costs less, fails more plainly, and notes their use."""

import hashlib
import re

from django.core.cache import cache
from django.db import DatabaseError, connection, transaction
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from knox.models import AuthToken
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from controlplane import clock

from .models import User
from .throttles import MistakenToken

SHAPE = re.compile(rb"[0-9a-fA-F]{64}")
GOOD_S = 3600
NOTED_EVERY_S = 300  # per web process
_USED = """
INSERT INTO accounts_tokennote (token_id, name, last_used_at) VALUES (%s, '', now())
    ON CONFLICT (token_id) DO UPDATE SET last_used_at = EXCLUDED.last_used_at
"""


class HashedTokenAuthentication(TokenAuthentication):
    """``Authorization: Token <token>``. One query, however many tokens the account has.

    None for what no token looks like, and for an address that has sent too many
    that are none; those that were good lately are looked for all the same.
    """

    def authenticate(self, request: Request) -> tuple[User, AuthToken] | None:
        mistaken, words = MistakenToken(), get_authorization_header(request).split()
        token = words[1] if len(words) == 2 and words[0].lower() == b"token" else b""
        looked_for = bool(SHAPE.fullmatch(token))
        if looked_for and mistaken.full(request) and not cache.get(_good(token)):
            raise Throttled(1, "this address has sent too many tokens that are not valid")
        try:
            found: tuple[User, AuthToken] | None = super().authenticate(request)
        except AuthenticationFailed:
            if looked_for:
                mistaken.count(request)
            raise
        return found

    def authenticate_credentials(self, token: bytes) -> tuple[User, AuthToken]:
        if not SHAPE.fullmatch(token):
            raise AuthenticationFailed("the token is not valid; log in again")
        user, row = super().authenticate_credentials(token)
        cache.set(_good(token), True, GOOD_S)
        _used(row)
        return user, row

    def _cleanup_token(self, auth_token: AuthToken) -> bool:
        """Whether it has expired. Expired ones are removed at the next login, not while reading."""
        return auth_token.expiry is not None and auth_token.expiry < clock.now()


def _good(token: bytes) -> str:
    return f"token-good:{hashlib.sha256(token).hexdigest()}"


def _used(row: AuthToken) -> None:
    """Note that the token was used now, unless this process did so lately. That it cannot is no reason to refuse."""
    if not cache.add(f"token-used:{row.pk}", True, NOTED_EVERY_S):
        return
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_USED, [row.pk])
    except DatabaseError:
        return  # also when it was revoked in this moment


class HashedTokenScheme(OpenApiAuthenticationExtension):
    target_class = "controlplane.accounts.authentication.HashedTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token <token>` from POST /api/v1/auth/login",
        }
