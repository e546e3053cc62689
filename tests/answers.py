"""Answers of the API as its contract describes them, filled in where a test does not care."""

import datetime as dt
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from contract.base import Answer

A = TypeVar("A", bound=Answer)
AT = "2026-01-02T03:04:05Z"


def answer(kind: type[A], **said: Any) -> A:
    """One with these fields; the others are empty."""
    return kind.model_validate(said_by_the_api(kind, **said))


def said_by_the_api(kind: type[Answer], **said: Any) -> dict[str, Any]:
    """The same as JSON. What is said of fields that the contract does not know is kept."""
    fields = {name: field for name, field in kind.model_fields.items() if name not in said}
    return {field.alias or name: _empty(field.annotation) for name, field in fields.items()} | said


def _empty(kind: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or (origin in (Union, UnionType) and type(None) in parts):
        return None
    if origin in (Annotated, Literal):
        return _empty(parts[0]) if origin is Annotated else parts[0]
    if kind is dt.datetime:
        return AT
    if isinstance(kind, type) and issubclass(kind, Answer):
        return said_by_the_api(kind)
    return (origin or kind)()
