"""Tokens of programs. knox stores them hashed; this class only costs less and fails more plainly."""

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from knox.models import AuthToken
from rest_framework.exceptions import AuthenticationFailed

MAX_TOKEN = 256


class HashedTokenAuthentication(TokenAuthentication):
    """``Authorization: Token <token>``. One query, however many tokens the account has."""

    def authenticate_credentials(self, token: bytes):  # type: ignore[no-untyped-def]
        if len(token) > MAX_TOKEN or not token.isalnum() or not token.isascii():
            raise AuthenticationFailed("the token is not valid; log in again")
        return super().authenticate_credentials(token)

    def _cleanup_token(self, auth_token: AuthToken) -> bool:
        """Whether it has expired. Expired ones are removed at the next login, not while reading."""
        return auth_token.expiry is not None and auth_token.expiry < timezone.now()


class HashedTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "controlplane.accounts.authentication.HashedTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token <token>` from POST /api/v1/auth/login",
        }
