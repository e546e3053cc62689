"""Tokens of programs. knox stores them hashed; this class costs less, fails more plainly, and notes their use."""

from django.core.cache import cache
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from knox.models import AuthToken
from rest_framework.exceptions import AuthenticationFailed

from .models import User

MAX_TOKEN = 256
NOTED_EVERY_S = 300  # per web process
_USED = """
INSERT INTO accounts_tokennote (token_id, name, last_used_at) VALUES (%s, '', now())
    ON CONFLICT (token_id) DO UPDATE SET last_used_at = EXCLUDED.last_used_at
"""


class HashedTokenAuthentication(TokenAuthentication):
    """``Authorization: Token <token>``. One query, however many tokens the account has."""

    def authenticate_credentials(self, token: bytes) -> tuple[User, AuthToken]:
        if len(token) > MAX_TOKEN or not token.isalnum() or not token.isascii():
            raise AuthenticationFailed("the token is not valid; log in again")
        user, row = super().authenticate_credentials(token)
        _used(row)
        return user, row

    def _cleanup_token(self, auth_token: AuthToken) -> bool:
        """Whether it has expired. Expired ones are removed at the next login, not while reading."""
        return auth_token.expiry is not None and auth_token.expiry < timezone.now()


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
