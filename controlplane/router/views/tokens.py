"""Tokens and password of one's own, and the tokens with which nodes and sub-clusters join."""

from typing import Any

from django.contrib.auth import update_session_auth_hash
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.accounts import JoinTokenList, NewToken, PasswordChange, TokenList, TokenRequest
from controlplane.accounts.throttles import ByAccount, Login
from controlplane.statestore.actions import accounts as actions
from controlplane.statestore.actions import joining
from controlplane.statestore.actions import nodes as node_actions
from controlplane.statestore.models import JoinToken, SubClusterToken
from controlplane.statestore.queries.accounts import tokens

from .common import View, account, actor, answers, body, existing, require, token_in_use, whole


class OwnTokens(View):
    @extend_schema(operation_id="tokens_list", responses=answers({200: TokenList}))
    def get(self, request: Request) -> Response:
        """Your tokens: what for, until when, when last used. Never their text."""
        return whole(tokens.of_account(account(request), token_in_use(request)))

    @extend_schema(
        operation_id="tokens_create",
        request=TokenRequest,
        responses=answers({201: NewToken}, 409, 415),
    )
    def post(self, request: Request) -> Response:
        """A token for a program of yours, with your rights. It is shown this once.

        Asked for with such a token it ends no later than that does, whatever ``valid_s`` says.
        """
        wanted = body(request, TokenRequest)
        row, token = actions.new_token(
            actor(request), account(request), wanted.name, wanted.valid_s, token_in_use(request)
        )
        made = {"key": row.token_key, "name": wanted.name, "token": token, "expires_at": row.expiry}
        return Response(made, status=201)


class OwnToken(View):
    @extend_schema(operation_id="tokens_revoke", responses=answers({}) | {204: None})
    def delete(self, request: Request, key: str) -> Response:
        """End a token of yours, at once."""
        actions.revoke_token(actor(request), account(request), key)
        return Response(status=204)


class OwnPassword(View):
    def get_throttles(self) -> list[Any]:
        return [ByAccount(), Login()]

    @extend_schema(
        operation_id="password_change",
        request=PasswordChange,
        responses=answers({}, 415) | {204: None},
    )
    def post(self, request: Request) -> Response:
        """Another password for yourself. Every token, and every session but this one, ends."""
        wanted, user = body(request, PasswordChange), account(request)
        actions.change_password(actor(request), user, wanted.current, wanted.password)
        if request.auth is None:
            update_session_auth_hash(request._request, user)
        return Response(status=204)


class JoinTokens(View):
    @extend_schema(operation_id="join_tokens_list", responses=answers({200: JoinTokenList}))
    def get(self, request: Request) -> Response:
        """Tokens that would register a node or a sub-cluster now. Never their text. Operators and viewers."""
        require("cluster.view_all", request)
        return whole(tokens.join_tokens())


class NodeJoinToken(View):
    @extend_schema(operation_id="join_tokens_revoke_node", responses=answers({}) | {204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """No more nodes register with it; those that did stay. Operators only."""
        require("cluster.operate", request)
        found = JoinToken.objects.filter(pk=token_id, revoked_at=None).first() if token_id < 2**63 else None
        node_actions.revoke_join_token(actor(request), existing(found, "there is no such token, or it was revoked"))
        return Response(status=204)


class SubClusterJoinToken(View):
    @extend_schema(operation_id="join_tokens_revoke_sub_cluster", responses=answers({}) | {204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """No sub-cluster registers with it. Operators only."""
        require("cluster.operate", request)
        found = SubClusterToken.objects.filter(pk=token_id, used_at=None).first() if token_id < 2**63 else None
        joining.revoke_token(actor(request), existing(found, "there is no such token, or it was used"))
        return Response(status=204)
