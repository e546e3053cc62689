"""Artifacts: put there by their digest, fetched by whoever may."""

import re
from tempfile import SpooledTemporaryFile
from typing import Any

from django.conf import settings
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from contract.artifacts import KeptArtifactPage
from contract.jobs import Artifact as ArtifactAnswer
from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything, visible_jobs_q
from controlplane.router import download
from controlplane.statestore.actions import artifacts, keeping
from controlplane.statestore.errors import Invalid, NotFound, TooLarge
from controlplane.statestore.models import Artifact, ArtifactOwner, TaskOutput
from controlplane.statestore.queries.accounts.artifacts import kept, list_page

from .common import PAGING, UPLOAD_MAX, View, account, actor, answers, paged, require, text_parameter

DIGEST = re.compile(r"[0-9a-f]{64}")
ADDRESS = text_parameter("digest", "SHA-256, in hex", OpenApiParameter.PATH, pattern="^[0-9a-f]{64}$")


class RawBody(BaseParser):
    """Any body, taken as it is: the view reads it in pieces."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return stream


def body_of(request: Request) -> artifacts.Body:
    """The raw body; where the server has put it into a file, that file, which can be read twice."""
    stream: Any = getattr(request._request, "_stream", None)
    return stream if isinstance(stream, SpooledTemporaryFile) else artifacts.Once(request._request.read)


def check_digest(digest: str) -> str:
    if not DIGEST.fullmatch(digest):
        wrong = FieldError("sha256", "is not a digest", "give the SHA-256 as 64 lower-case hexadecimal digits")
        raise Invalid("the address has an error", [wrong])
    return digest


def check_size(request: Request) -> None:
    """``TooLarge`` by what the request says of itself; the server counts as well while it reads."""
    most = int(settings.HYDRA["artifact_max_mib"]) << 20
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdigit() and int(length) > most:
        raise TooLarge(f"an artifact may have {most} bytes, this one has {length}")


def readable(user: User, digest: str) -> int | None:
    """The artifact's size if the account may read it: its own, or an output of a job it may see."""
    size = Artifact.objects.filter(digest=digest).values_list("size", flat=True).first()
    if size is None or sees_everything(user):
        return size
    if ArtifactOwner.objects.filter(artifact_id=digest, owner_id=user.pk).exists():
        return size
    visible = TaskOutput.objects.filter(visible_jobs_q(user, "job__"), digest=digest)
    return size if visible.exists() else None


class Artifacts(View):
    @extend_schema(operation_id="artifacts_list", parameters=PAGING, responses=answers({200: KeptArtifactPage}))
    def get(self, request: Request) -> Response:
        """What you have uploaded and what your tasks have left, the largest first; how much it is, and may be."""
        owner_id = account(request).pk
        answer, have = paged(request, 2, lambda at, size: list_page(owner_id, at, size)), kept(owner_id)
        answer.data["kept"] = {
            "files": have.files,
            "files_max": keeping.most_files(),
            "size": have.size,
            "size_max": keeping.most_bytes(),
        }
        return answer


class ArtifactDetail(View):
    parser_classes = [RawBody]
    body_max = UPLOAD_MAX

    @extend_schema(
        operation_id="artifacts_put",
        parameters=[ADDRESS],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=answers({200: ArtifactAnswer, 201: ArtifactAnswer}, 409, 413),
    )
    def put(self, request: Request, digest: str) -> Response:
        """Upload bytes under their SHA-256; 200 when they were there already."""
        require("jobs.submit", request)
        check_size(request)
        size, new = artifacts.upload(actor(request), check_digest(digest), body_of(request))
        return Response({"digest": digest, "size": size}, status=201 if new else 200)

    @extend_schema(operation_id="artifacts_delete", parameters=[ADDRESS], responses=answers({}, 409) | {204: None})
    def delete(self, request: Request, digest: str) -> Response:
        """Keep it no longer, neither as a file nor as an output of ended jobs. It is gone if nobody else keeps it."""
        require("jobs.submit", request)
        artifacts.delete(actor(request), check_digest(digest))
        return Response(status=204)

    @extend_schema(
        operation_id="artifacts_get",
        parameters=[ADDRESS, text_parameter("Range", "Such as `bytes=0-99`", OpenApiParameter.HEADER)],
        responses=answers({}, 416)
        | {
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            (206, "application/octet-stream"): OpenApiTypes.BINARY,
        },
    )
    def get(self, request: Request, digest: str) -> HttpResponseBase:
        """The artifact's bytes; one ``Range`` is understood."""
        return self._answer(request, digest, head=False)

    @extend_schema(exclude=True)
    def head(self, request: Request, digest: str) -> HttpResponseBase:
        """Whether the bytes are there and readable, and how many."""
        return self._answer(request, digest, head=True)

    def _answer(self, request: Request, digest: str, head: bool) -> HttpResponseBase:
        size = readable(account(request), check_digest(digest))
        if size is None:
            raise NotFound("there is no such artifact that you may read")
        return download.artifact(digest, size, request.headers.get("Range"), head)
