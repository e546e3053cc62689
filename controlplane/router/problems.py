"""Errors as RFC 9457 problem documents: ``type, title, status, detail, errors: [{field, message, remedy}]``."""

import json
from dataclasses import asdict
from typing import Any

import structlog
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import is_valid_path
from rest_framework import exceptions
from rest_framework.authentication import get_authorization_header
from rest_framework.response import Response

from contract.problems import FieldError
from controlplane.statestore.errors import Refused

log = structlog.get_logger(__name__)

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER_S = 2
SHOWN = 64  # characters of a header that are told
AUTHORIZATION = "send Authorization: Token TOKEN, which hydractl token create NAME makes, or sign in"
TYPE = "urn:hydra:problem:"
TITLES = {
    400: ("malformed", "The request cannot be read"),
    401: ("not-authenticated", "Log in first"),
    403: ("forbidden", "Your account may not do this"),
    404: ("not-found", "There is no such thing, or it is not yours to see"),
    405: ("method-not-allowed", "This address does not take that method"),
    406: ("not-acceptable", "This address cannot answer in that format"),
    408: ("too-slow", "The request took too long to come"),
    412: ("stale", "It has changed since it was read"),
    413: ("too-large", "The request is too large"),
    415: ("unsupported-media-type", "The body's format is not one this address reads"),
    416: ("range", "The range lies outside the artifact"),
    422: ("invalid", "The request has errors"),
    429: ("too-many", "Too much at once"),
    500: ("internal", "Something went wrong here"),
    503: ("unavailable", "The control plane cannot do this right now"),
}


def document(
    status: int, detail: str, errors: list[FieldError] | None = None, slug: str = "", title: str = ""
) -> dict[str, Any]:
    """The body of a problem document."""
    default_slug, default_title = TITLES.get(status, ("refused", "The request was refused"))
    return {
        "type": TYPE + (slug or default_slug),
        "title": title or default_title,
        "status": status,
        "detail": detail,
        "errors": [asdict(e) for e in errors or []],
    }


def plain(status: int, detail: str, retry_after_s: int = 0) -> HttpResponse:
    """A problem outside of REST framework's views."""
    response = HttpResponse(json.dumps(document(status, detail)), status=status, content_type=CONTENT_TYPE)
    if retry_after_s:
        response["Retry-After"] = str(retry_after_s)
    return response


def _flatten(detail: Any, field: str = "") -> list[FieldError]:
    """REST framework's nested error details as a flat list."""
    if isinstance(detail, dict):
        return [e for key, value in detail.items() for e in _flatten(value, f"{field}.{key}".strip("."))]
    if isinstance(detail, list):
        return [e for value in detail for e in _flatten(value, field)]
    return [FieldError(field.removesuffix(".non_field_errors"), str(detail), "correct the value")]


def _from_framework(error: exceptions.APIException, context: dict[str, Any]) -> Response:
    errors = _flatten(error.detail) if isinstance(error, exceptions.ValidationError) else []
    status = 422 if isinstance(error, exceptions.ValidationError) else error.status_code
    detail = "the request has errors" if errors else str(error.detail)
    headers = {}
    if isinstance(error, exceptions.Throttled):
        detail = "this account sends requests faster than it may"
        headers["Retry-After"] = str(max(1, round(error.wait or 1)))
    elif isinstance(error, exceptions.UnsupportedMediaType):
        detail, errors = "the body is of a kind that is not read here", [_content_type(context)]
    elif isinstance(error, exceptions.MethodNotAllowed):
        taken = ", ".join(context["view"].allowed_methods)
        detail = f"{context['request'].method} is not taken here; this address takes {taken}"
    elif isinstance(error, exceptions.NotAuthenticated):
        detail = _unknown_caller(context, error.auth_header or "")
    if header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = header
    return _response(document(status, detail, errors), headers)


def _content_type(context: dict[str, Any]) -> FieldError:
    """What the request says its body is, and what it would have to say."""
    given = str(context["request"].content_type or "")[:SHOWN]
    read = [parser.media_type for parser in context["view"].parser_classes]
    message = f"{given!r} is not read here" if given else "is missing"
    return FieldError("Content-Type", message, f"send it as {' or '.join(read)}")


def _unknown_caller(context: dict[str, Any], scheme: str) -> str:
    """What the request says of who asks, and what it would have to. scheme: of the credentials that are read here."""
    words = get_authorization_header(context["request"]).decode("latin1").split()
    if len(words) == 1:  # which may be the credential itself: it is not repeated
        said = "the Authorization header has one word"
    elif words and words[0].lower() != scheme.lower():
        said = f"credentials of the kind {words[0][:SHOWN]!r} are not read here"
    else:
        said = "the request names nobody"
    return f"{said}; {AUTHORIZATION if scheme == 'Token' else f'send Authorization: {scheme} and the credential'}"


class ProblemResponse(Response):
    """A problem document; in the browsable pages, the page that shows it."""

    @property
    def rendered_content(self) -> Any:
        if self.accepted_renderer.format == "json":
            self.content_type = CONTENT_TYPE
        return super().rendered_content


def _response(body: dict[str, Any], headers: dict[str, str]) -> Response:
    return ProblemResponse(body, status=body["status"], headers=headers)


def _unavailable(error: Exception) -> Response:
    log.warning("the StateStore did not answer", problem=str(error))
    body = document(503, "the StateStore does not answer; nothing was lost, try again shortly")
    return _response(body, {"Retry-After": str(RETRY_AFTER_S)})


_PLAIN: list[tuple[type[Exception] | tuple[type[Exception], ...], int, str]] = [
    (Http404, 404, "there is no such thing, or it is not yours to see"),
    (PermissionDenied, 403, "your account may not do this"),
    (RequestDataTooBig, 413, "the body is larger than this address takes; send less at once"),
    ((SuspiciousOperation, BadRequest, DataError), 400, "the request holds a value that cannot be used"),
]


def problem_response(error: Exception, context: dict[str, Any]) -> Response:
    """REST framework's ``EXCEPTION_HANDLER``. An error nobody foresaw is logged and answered without its text."""
    if isinstance(error, Refused):
        headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else {}
        return _response(document(error.status, error.detail, error.errors, error.slug, error.title), headers)
    if isinstance(error, exceptions.APIException):
        return _from_framework(error, context)
    if isinstance(error, OperationalError | InterfaceError):
        return _unavailable(error)
    for kinds, status, detail in _PLAIN:
        if isinstance(error, kinds):
            return _response(document(status, detail), {})
    log.error("unforeseen error", view=type(context.get("view")).__name__, exc_info=error)
    return _response(document(500, "the request failed for a reason that is now in the log of the web process"), {})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return plain(400, "the request cannot be read")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return plain(403, "your account may not do this")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return plain(403, f"{reason or 'the CSRF token is missing'}; GET /api/v1/auth/csrf and repeat it in X-CSRFToken")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return plain(404, f"there is nothing at {request.path[:200]}{_without_slash(request.path)}")


def _without_slash(path: str) -> str:
    """What may have been meant, of an address that ends in a slash as none here does."""
    bare = path.rstrip("/")
    return f"; did you mean {bare[:200]}?" if bare != path and is_valid_path(bare) else ""


def server_error(request: HttpRequest) -> HttpResponse:
    return plain(500, "the request failed for a reason that is now in the log of the web process")
