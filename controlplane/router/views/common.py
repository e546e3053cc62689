"""What every view does the same way: who acts, pages, bodies, documentation."""

import datetime as dt
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import rules
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from knox.models import AuthToken
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from contract.findings import explain, spelling
from contract.problems import FieldError, Problem
from controlplane.accounts import writes
from controlplane.accounts.models import User
from controlplane.accounts.throttles import ByAccount
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.errors import Forbidden, Invalid, NotFound
from controlplane.statestore.models import Job, TaskGroup
from controlplane.statestore.queries.jobs import listing
from controlplane.statestore.queries.moments import read_moment
from controlplane.statestore.queries.paging import PAGE_SIZE, PAGE_SIZE_MAX, Cursor, Page, decode

B = TypeVar("B", bound=BaseModel)
T = TypeVar("T")
PROBLEM = OpenApiResponse(Problem, description="A problem document: what was wrong, and the remedy")


def number_parameter(name: str, low: int, high: int, description: str) -> OpenApiParameter:
    """A documented whole number in the query string; ``integer`` reads it."""
    return OpenApiParameter(name, {"type": "integer", "minimum": low, "maximum": high}, description=description)


def text_parameter(
    name: str, description: str = "", where: Any = OpenApiParameter.QUERY, **rules: Any
) -> OpenApiParameter:
    """A documented short text; ``text`` reads it from the query string."""
    plain = {"maxLength": 255, "pattern": r"^[^\x00]*$"}
    return OpenApiParameter(name, {"type": "string", **plain, **rules}, where, description=description)


CURSOR = text_parameter(
    "cursor", "From `next` or `previous` of another page", maxLength=512, pattern=r"^[A-Za-z0-9_-]*$"
)
SIZE = number_parameter("page_size", 1, PAGE_SIZE_MAX, f"{PAGE_SIZE} by default")
PAGING = [CURSOR, SIZE]
JSON_MAX = 32 << 20  # a bulk submit of the largest kind
# Of one job: what may be kept of it, written as wastefully as JSON can be, is four times as long at most.
JOB_JSON_MAX = min(JSON_MAX, max(1 << 20, 4 * int(settings.HYDRA["job_max_kib"]) << 10))
UPLOAD_MAX = int(settings.HYDRA["artifact_max_mib"]) << 20
SMALL = 64 << 10  # of somebody who is nobody yet, and wherever no body is expected
ODD_MAX = 20  # parameters that nobody knows, of which it is said
_COMMON = (400, 401, 403, 404, 405, 406, 422, 429, 500, 503)


def answers(ok: Mapping[int, Any], *more: int) -> dict[Any, Any]:
    """Documented answers: the good ones and the problems that any address may answer with."""
    problems = {(status, "application/problem+json"): PROBLEM for status in sorted({*_COMMON, *more})}
    return {(status, "application/json"): shape for status, shape in ok.items()} | problems


def rendered(
    view: Callable[..., HttpResponseBase], request: HttpRequest, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> HttpResponseBase:
    """What a synchronous view answers, ready to be sent: for an asynchronous one around it."""
    response = view(request, *args, **kwargs)
    if isinstance(response, SimpleTemplateResponse):
        response.render()
    return response


def account(request: Request) -> User:
    """The account behind an authenticated request."""
    assert isinstance(request.user, User)
    return request.user


def actor(request: Request) -> Actor:
    return Actor(request.user.pk, request.META.get("REMOTE_ADDR") or None)


def token_in_use(request: Request) -> AuthToken | None:
    """The token that the request carries; a browser's session has none."""
    return request.auth if isinstance(request.auth, AuthToken) else None


def require(permission: str, request: Request) -> None:
    """``Forbidden`` unless the account has a permission that depends on no object."""
    if not rules.has_perm(permission, request.user):
        raise Forbidden(f"this needs a right that the role {getattr(request.user, 'role', 'anonymous')} does not have")


def existing(found: T | None, otherwise: str) -> T:
    """What was found; ``NotFound`` with the words ``otherwise`` where nothing was."""
    if found is None:
        raise NotFound(otherwise)
    return found


def job_of(request: Request, job_id: int) -> Job:
    """The job if the account may see it; to everybody else it does not exist."""
    return existing(listing.find(account(request), job_id), f"there is no job {job_id} that you may see")


def changeable_job(request: Request, job_id: int) -> Job:
    """The job if the account may change it; ``Forbidden`` when it may only see it."""
    job = job_of(request, job_id)
    if not rules.has_perm("jobs.change", request.user, job):
        raise Forbidden(f"you may see job {job_id} but not change it")
    return job


def integer(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number from the query string, ``default`` when absent."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high):
        raise wrong(name, f"{text[:30]!r} is not a whole number from {low} to {high}", "correct it or leave it out")
    return int(text)


class Queried(Protocol):
    """What has a query string: a request, or what is kept to be asked again."""

    @property
    def query_params(self) -> Mapping[str, str]: ...


def choice(request: Queried, name: str, values: Mapping[str, Any]) -> Any:
    """One of several words from the query string; ``None`` when absent."""
    text = request.query_params.get(name)
    if text is None:
        return None
    if text not in values:
        raise wrong(name, f"{text[:30]!r} is not known", f"use one of {', '.join(values)}")
    return values[text]


def text(request: Queried, name: str) -> str | None:
    """A short text from the query string; ``None`` when absent."""
    value = request.query_params.get(name)
    if value is not None and ("\0" in value or len(value) > 255):
        raise wrong(name, "is not a short text", "use at most 255 characters and no NUL")
    return value


def group_of(request: Request, job_id: int) -> int | None:
    """The number of the job's group that the query string names; ``None`` when absent."""
    name = text(request, "group")
    if name is None:
        return None
    numbers = dict(TaskGroup.objects.filter(job_id=job_id).order_by("no").values_list("name", "no"))
    if name not in numbers:
        remedy = f"use one of {', '.join(numbers)}" if numbers else "it has none yet"
        raise wrong("group", f"{name[:80]!r} is not a group of this job", remedy)
    return numbers[name]


def moment_parameter(name: str, description: str) -> OpenApiParameter:
    """A documented time in the query string; ``moment`` reads it."""
    return OpenApiParameter(name, {"type": "string", "format": "date-time", "maxLength": 40}, description=description)


def moment(request: Queried, name: str) -> dt.datetime | None:
    """A time from the query string, UTC where it names no zone; ``None`` when absent."""
    text = request.query_params.get(name)
    if text is None:
        return None
    found = read_moment(text)
    if found is None:
        raise wrong(name, f"{text[:40]!r} is not a time", "write it like 2030-01-31T12:00:00Z")
    return found


@functools.cache
def _documented(view: type[APIView], method: str) -> frozenset[str] | None:
    """Names in the query string that the operation documents; ``None`` of one that is not in the description."""
    made = getattr(getattr(view, method.lower(), None), "kwargs", {}).get("schema")
    if made is None:
        return None
    schema = made()
    schema.view, schema.method = view(), method
    schema.view.request, schema.view.kwargs = None, {}
    found = schema.get_override_parameters()
    return frozenset(p.name for p in found if isinstance(p, OpenApiParameter) and p.location == OpenApiParameter.QUERY)


def refuse_unknown(view: APIView, request: Request) -> None:
    """``Invalid`` for what the operation does not document in its query string: nothing is passed over."""
    known = _documented(type(view), request.method or "")
    if known is None:
        return
    odd = request.query_params.keys() - known - {api_settings.URL_FORMAT_OVERRIDE}
    if odd:
        errors = [FieldError(name[:64], "is no parameter here", spelling(name, sorted(known))) for name in sorted(odd)]
        raise Invalid("a parameter has an error", errors[:ODD_MAX])


def wrong(name: str, message: str, remedy: str) -> Invalid:
    """What to raise of a parameter of the query string."""
    return Invalid("a parameter has an error", [FieldError(name, message, remedy)])


def body(request: Request, shape: type[B], beside: Sequence[FieldError] = ()) -> B:
    """The JSON body as ``shape``; ``Invalid`` names every field that is wrong, after what is wrong ``beside`` it."""
    try:
        found = shape.model_validate(request.data if request.data != "" else {})
    except ValidationError as error:
        raise Invalid("the request has errors", [*beside, *explain(error, shape, whole="body")]) from None
    if beside:
        raise Invalid("the request has errors", [*beside])
    return found


def misnamed(name: str, kind: TypeAdapter[str], message: str, remedy: str) -> list[FieldError]:
    """What is wrong with a name in the address, if anything is."""
    try:
        kind.validate_python(name, strict=True)
    except ValidationError:
        return [FieldError("name", message, remedy)]
    return []


def paged(request: Request, parts: int, read: Callable[[Cursor, int], Page]) -> Response:
    """One page and the addresses of the pages beside it. ``parts``: numbers in the list's key."""
    size = integer(request, "page_size", PAGE_SIZE, 1, PAGE_SIZE_MAX)
    found = read(decode(request.query_params.get("cursor", ""), parts), size)
    return Response(
        {
            "next": _address(request, found.next),
            "previous": _address(request, found.previous),
            "results": found.results,
        }
    )


def _address(request: Request, cursor: Cursor | None) -> str | None:
    if cursor is None:
        return None
    query = request.query_params.copy()
    query["cursor"] = cursor.encode()
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def whole(rows: list[Any]) -> Response:
    """A list that is always short enough for one page."""
    return Response({"next": None, "previous": None, "results": rows})


class StrictJson(JSONParser):
    """JSON only, read by compiled code that bounds how deeply it is nested: what reads on may go as deep as it is."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        try:
            return from_json(stream.read(), allow_inf_nan=False)
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from None


class AnyAccept(DefaultContentNegotiation):
    """A file is what it is, whatever the client says it prefers."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class View(APIView):
    """Base of all views."""

    parser_classes = [StrictJson]
    throttle_classes = [ByAccount]
    body_max = JSON_MAX  # bytes of a request's body
    of_process = False  # whether the process that is asked has to answer: of itself, or with a file that it makes

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who may ask is asked first."""
        super().initial(request, *args, **kwargs)
        if request.method not in SAFE_METHODS and isinstance(request.user, User):
            writes.claim(request.user, 1)
        if request.query_params:
            refuse_unknown(self, request)

    def get_view_name(self) -> str:
        return type(self).__name__
