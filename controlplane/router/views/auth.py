"""Log in and out, as a program (token) or as a browser (session), and who am I."""

from typing import Any

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect, ensure_csrf_cookie
from drf_spectacular.utils import extend_schema
from knox.models import AuthToken
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from contract.accounts import Csrf as CsrfAnswer
from contract.accounts import Login as LoginAnswer
from contract.accounts import LoginRequest
from contract.accounts import Me as MeAnswer
from controlplane import clock
from controlplane.accounts import rights
from controlplane.accounts.models import User
from controlplane.accounts.throttles import ByAccount, Login
from controlplane.statestore.actions import accounts as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.errors import Refused

from .common import SMALL, View, account, answers, body


class WrongPassword(Refused):
    status, slug, title = 401, "wrong-password", "You are not signed in"


def me(user: User) -> dict[str, Any]:
    """The account as it sees itself."""
    queues = [{"path": path, "level": level} for path, level in sorted(rights.access(user).items())]
    return {"id": user.pk, "username": user.username, "role": user.role, "queues": queues, "email": user.email}


def _authenticated(request: Request) -> User:
    """The account whose name and password the body holds. Every failure is answered alike."""
    wanted = body(request, LoginRequest)
    user = authenticate(request._request, username=wanted.username, password=wanted.password)
    if not isinstance(user, User):
        raise WrongPassword("the name or the password is wrong, or the account is closed")
    return user


class TokenLogin(View):
    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []
    throttle_classes = [Login]
    body_max = SMALL

    @extend_schema(
        operation_id="auth_login",
        auth=[],
        request=LoginRequest,
        responses=answers({200: LoginAnswer}, 415),
    )
    def post(self, request: Request) -> Response:
        """A token for programs; it is shown this once."""
        user = _authenticated(request)
        row, token = actions.new_token(Actor(user.pk, request.META.get("REMOTE_ADDR")), user)
        User.objects.filter(pk=user.pk).update(last_login=clock.now())  # as Django does for a browser
        return Response({"token": token, "expiry": row.expiry, "user": me(user)})


class TokenLogout(View):
    @extend_schema(operation_id="auth_logout", request=None, responses=answers({}) | {204: None})
    def post(self, request: Request) -> Response:
        """End the token that this request carries."""
        if isinstance(request.auth, AuthToken):
            request.auth.delete()
        return Response(status=204)


class Session(View):
    """A browser's session. Making one is protected against cross-site requests as well."""

    permission_classes = [AllowAny]
    body_max = SMALL

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        known = request.method in {"POST", "DELETE"}
        answer = csrf_protect(super().dispatch) if known else super().dispatch
        return answer(request, *args, **kwargs)

    def get_throttles(self) -> list[Any]:
        return [Login()] if self.request.method == "POST" else [ByAccount()]

    @extend_schema(
        operation_id="session_create", auth=[], request=LoginRequest, responses=answers({200: MeAnswer}, 415)
    )
    def post(self, request: Request) -> Response:
        """Log a browser in: sets the session's cookie and a new CSRF cookie."""
        user = _authenticated(request)
        login(request._request, user, backend="django.contrib.auth.backends.ModelBackend")
        get_token(request._request)
        return Response(me(user))

    @extend_schema(operation_id="session_delete", request=None, responses=answers({}) | {204: None})
    def delete(self, request: Request) -> Response:
        """Log the browser out."""
        logout(request._request)
        return Response(status=204)


@method_decorator(ensure_csrf_cookie, name="dispatch")
class Csrf(View):
    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    @extend_schema(operation_id="auth_csrf", auth=[], responses=answers({200: CsrfAnswer}))
    def get(self, request: Request) -> Response:
        """Sets the CSRF cookie that ``X-CSRFToken`` must repeat."""
        return Response({"csrf_token": get_token(request._request)})


class Me(View):
    @extend_schema(operation_id="me", responses=answers({200: MeAnswer}))
    def get(self, request: Request) -> Response:
        """Who you are, and the queues you were granted."""
        return Response(me(account(request)))
