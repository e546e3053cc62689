"""Accounts as operators keep them. Whatever ends a right ends it with the next request."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.accounts import Account, AccountPage, AccountRequest, EmailRequest, PasswordReset, RoleRequest, TokenList
from controlplane.accounts.models import Role, User
from controlplane.policy import approval, versions
from controlplane.router import unknown
from controlplane.statestore.actions import accounts as actions
from controlplane.statestore.errors import Forbidden, NotFound
from controlplane.statestore.queries.accounts import listing, tokens

from .common import (
    PAGING,
    View,
    actor,
    answers,
    body,
    choice,
    paged,
    require,
    text,
    text_parameter,
    token_in_use,
    whole,
)

ONE = answers({200: Account}, 409, 415)
ROLES = {str(role): str(role) for role in Role}


def row_of(name: str) -> User:
    found = User.objects.filter(username=name).first() if "\0" not in name else None
    if found is None:
        raise NotFound(unknown.account(name))
    return found


def answer(name: str, status: int = 200) -> Response:
    return Response(listing.one(name), status=status)


class Accounts(View):
    @extend_schema(
        operation_id="accounts_list",
        parameters=[
            *PAGING,
            text_parameter("name", "Only those whose name contains it"),
            text_parameter("role", enum=list(ROLES)),
        ],
        responses=answers({200: AccountPage}),
    )
    def get(self, request: Request) -> Response:
        """Every account, its role and what it was granted. Operators and viewers."""
        require("cluster.view_all", request)
        name, role = text(request, "name"), choice(request, "role", ROLES)
        return paged(request, 1, lambda at, size: listing.list_page(at, size, name, role))

    @extend_schema(
        operation_id="accounts_create",
        request=AccountRequest,
        responses=answers({201: Account}, 415),
    )
    def post(self, request: Request) -> Response:
        """A new account. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, AccountRequest)
        made = actions.create(actor(request), wanted.username, wanted.password, Role(wanted.role))
        return answer(made.username, 201)


class AccountDetail(View):
    @extend_schema(operation_id="accounts_get", responses=answers({200: Account}))
    def get(self, request: Request, username: str) -> Response:
        """One account. Operators and viewers."""
        require("cluster.view_all", request)
        return answer(row_of(username).username)


@contextmanager
def _enough_operators(user: User) -> Iterator[User]:
    """Change the account, unless nobody could approve changes of the policy afterwards that want a second operator."""
    with transaction.atomic():
        was = user.role
        yield user
        if was == Role.OPERATOR and not (user.is_active and user.role == Role.OPERATOR):
            approval.check_left(approval.of(versions.written(versions.active())), user)


class AccountRole(View):
    @extend_schema(operation_id="accounts_role", request=RoleRequest, responses=ONE)
    def post(self, request: Request, username: str) -> Response:
        """Another role; never one's own, and never the last operator's. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, RoleRequest)
        with _enough_operators(row_of(username)) as user:
            actions.set_role(actor(request), user, Role(wanted.role))
        return answer(username)


class AccountEmail(View):
    @extend_schema(operation_id="accounts_email", request=EmailRequest, responses=ONE)
    def post(self, request: Request, username: str) -> Response:
        """Where the account gets mail of its jobs; nowhere else is any sent. Operators only."""
        require("cluster.operate", request)
        wanted = body(request, EmailRequest)
        actions.set_email(actor(request), row_of(username), wanted.email)
        return answer(username)


class AccountClose(View):
    @extend_schema(operation_id="accounts_close", request=None, responses=ONE)
    def post(self, request: Request, username: str) -> Response:
        """Nobody can use it any more; its sessions and tokens end at once. Its jobs go on. Operators only."""
        require("cluster.operate", request)
        with _enough_operators(row_of(username)) as user:
            actions.set_active(actor(request), user, False)
        return answer(username)


class AccountOpen(View):
    @extend_schema(operation_id="accounts_open", request=None, responses=ONE)
    def post(self, request: Request, username: str) -> Response:
        """Open it again; it logs in anew. Operators only."""
        require("cluster.operate", request)
        actions.set_active(actor(request), row_of(username), True)
        return answer(username)


class AccountPassword(View):
    @extend_schema(operation_id="accounts_password", request=PasswordReset, responses=ONE)
    def post(self, request: Request, username: str) -> Response:
        """Another password for somebody who has lost it; its sessions and tokens end. Operators only."""
        require("cluster.operate", request)
        wanted, user = body(request, PasswordReset), row_of(username)
        if user.pk == request.user.pk:
            raise Forbidden("change your own password with POST /api/v1/me/password, which asks for the present one")
        actions.set_password(actor(request), user, wanted.password)
        return answer(username)


class AccountSignOut(View):
    @extend_schema(operation_id="accounts_sign_out", request=None, responses=ONE)
    def post(self, request: Request, username: str) -> Response:
        """End all its sessions and tokens; its password stays. Operators only."""
        require("cluster.operate", request)
        actions.sign_out(actor(request), row_of(username))
        return answer(username)


class AccountTokens(View):
    @extend_schema(operation_id="accounts_tokens", responses=answers({200: TokenList}))
    def get(self, request: Request, username: str) -> Response:
        """An account's tokens: what for, until when, when last used. Never their text. Operators and viewers."""
        require("cluster.view_all", request)
        return whole(tokens.of_account(row_of(username), token_in_use(request)))


class AccountToken(View):
    @extend_schema(operation_id="accounts_revoke_token", responses=answers({}) | {204: None})
    def delete(self, request: Request, username: str, key: str) -> Response:
        """End one token of an account, at once; its sessions and other tokens stay. Operators only."""
        require("cluster.operate", request)
        actions.revoke_token(actor(request), row_of(username), key)
        return Response(status=204)
