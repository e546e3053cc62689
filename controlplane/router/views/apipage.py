"""The API's description as a page. It needs no script, no file of its own and nobody else's server."""

import functools
import secrets
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.template.loader import get_template
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from controlplane.router.views.common import View
from controlplane.router.views.description import described

POLICY = "default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
NONCE = "__CSP_NONCE__"
_METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a field of a shape. kind: its type in words; shape: where to read on, "" for nowhere."""

    name: str
    kind: str
    shape: str
    required: bool
    note: str


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    note: str
    parameters: list[Field]
    takes: str
    answers: list[tuple[str, str, str]]  # status, type or words, shape


class ApiPage(View):
    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """For people. Needs no account."""
        nonce = secrets.token_urlsafe(16)
        response = HttpResponse(_page().replace(NONCE, nonce))
        response["Content-Security-Policy"] = POLICY.format(nonce=nonce)
        response["Cache-Control"] = "no-store"
        return response


@functools.cache
def _page() -> str:
    description = described()
    operations: dict[str, list[Operation]] = {}
    for path, item in description["paths"].items():
        for method in (m for m in _METHODS if m in item):
            tag = (item[method].get("tags") or ["other"])[0]
            operations.setdefault(tag, []).append(_operation(method.upper(), path, item[method]))
    shapes = {
        name: (schema.get("description", ""), _fields(schema))
        for name, schema in sorted(description["components"]["schemas"].items())
    }
    known = {"info": description["info"], "operations": operations, "shapes": shapes, "nonce": NONCE}
    return get_template("router/api.html").render(known)


def _operation(method: str, path: str, said: dict[str, Any]) -> Operation:
    parameters = [
        Field(
            p["name"], f"{_kind(p['schema'])[0]} in {p['in']}", "", p.get("required", False), p.get("description", "")
        )
        for p in said.get("parameters", [])
    ]
    bodies = list(said.get("requestBody", {}).get("content", {}).values())
    good = [
        (status, *_kind(content["schema"])) if "schema" in content else (status, kind, "")
        for status, answer in sorted(said["responses"].items())
        for kind, content in (answer.get("content") or {"no body": {}}).items()
        if status < "400"
    ]
    takes = _kind(bodies[0].get("schema", {}))[1] if bodies else ""
    return Operation(method, path, said.get("description", ""), parameters, takes, good)


def _fields(schema: dict[str, Any]) -> list[Field]:
    required = schema.get("required", [])
    return [
        Field(name, *_kind(field), name in required, field.get("description", ""))
        for name, field in schema.get("properties", {}).items()
    ]


def _kind(schema: dict[str, Any]) -> tuple[str, str]:
    """Its type in words, and the shape that it leads to."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name, name
    if several := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        kinds = [_kind(each) for each in several]
        return " or ".join(kind for kind, _ in kinds), next((shape for _, shape in kinds if shape), "")
    if schema.get("type") == "array":
        kind, shape = _kind(schema.get("items", {}))
        return f"list of {kind}", shape
    if words := schema.get("enum"):
        return " | ".join(str(word) for word in words), ""
    return str(schema.get("const", schema.get("format") or schema.get("type", "anything"))), ""
