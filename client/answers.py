"""The API's answers, read into the types of ``contract``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import ValidationError

from client.errors import HydraError
from contract.base import Answer
from contract.findings import message_of
from contract.problems import FieldError, Problem

A = TypeVar("A", bound=Answer)


def read(kind: type[A], raw: Any) -> A:
    """Make a ``kind`` of an answer's JSON; ``HydraError`` when the server speaks something else."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "(all of it)"
        title = f"The server's answer is not a {kind.__name__} this client understands"
        advice = "Use a client of the server's version."
        raise HydraError(Problem(title=title, detail=f"{title}: {where}: {message_of(first)}. {advice}")) from error


def to_json(answer: Any) -> Any:
    """An answer, or an iterable of them, as plain JSON values, as the API said them."""
    if isinstance(answer, Answer):
        return answer.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(answer, FieldError):
        return asdict(answer)
    if isinstance(answer, Iterable) and not isinstance(answer, (str, bytes, dict)):
        return [to_json(each) for each in answer]
    return answer
