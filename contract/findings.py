"""What is wrong with a request, in plain words: field, message and remedy for each of pydantic's findings."""

import re
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from contract.atmost import MOST
from contract.fields import DNS, JOB_NAME, NO_NUL, PAGE, amount_remedy
from contract.problems import FIELD_PART_MAX, FieldError
from wire.resources import OF_AXIS

SHOWN = 64  # characters of a value that is told
NO_SUCH_FIELD = "there is no such field"
MESSAGES = {
    "extra_forbidden": NO_SUCH_FIELD,
    "missing": "this field is required",
    "string_pattern_mismatch": "is not written as it has to be here",
    "model_type": "is no mapping of fields",
    "dict_type": "is no mapping of names to values",
    "list_type": "is no list",
    "string_type": "is no text",
    "int_type": "is no whole number",
    "int_from_float": "is no whole number",
    "float_type": "is no number",
    "bool_type": "is neither true nor false",
    "greater_than_equal": "is too small",
    "greater_than": "is too small",
    "less_than_equal": "is too large",
    "less_than": "is too large",
}
# What to do about each kind of mistake; ``ctx`` values of pydantic's error are filled in.
REMEDIES = {
    "missing": "add the field",
    "string_type": "give a text; in YAML, put it in quotes",
    "variable": "give a text; in YAML, put it in quotes. For a secret use the group's field `secrets`",
    "string_unicode": "give valid Unicode text",
    "int_type": "give a whole number",
    "float_type": "give a number",
    "finite_number": "give a finite number",
    "bool_type": "give true or false",
    "list_type": "give a list",
    "dict_type": "give a mapping of names to values",
    "model_type": "give a mapping of fields",
    "greater_than_equal": "use {ge} or more",
    "less_than_equal": "use {le} or less",
    "greater_than": "use more than {gt}",
    "less_than": "use less than {lt}",
    "too_short": "give at least {min_length}",
    "too_long": "give at most {max_length}",
    "string_too_short": "give at least {min_length} character(s)",
    "string_too_long": "use at most {max_length} characters",
    "literal_error": "use {expected}",
    "path": "use a path relative to the work folder, such as data/in.csv",
    "page": "name a page by its plain path, such as /progress?tab=1",
    "labels": "write an expression such as zone == west && !spot",
    "int_from_float": "give a whole number",
    "written": "{remedy}",
}
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
PATTERN_REMEDIES = {
    DNS: "use lower-case letters, digits and '-', beginning and ending with a letter or digit",
    JOB_NAME: "use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit",
    NO_NUL: "remove the NUL character",
    PAGE: "give a path on the port's server that begins with / and has no escapes, such as /progress?tab=1",
}
FIELD_REMEDIES = {
    "digest": "give the SHA-256 of the uploaded file, 64 lower-case hexadecimal digits",
    "queue": "give a queue's path, such as root.default",
    "partition": "give a partition's name, in lower-case letters, digits and '-'",
    "source": "give the digest that hydractl artifacts put FILE prints (over REST: PUT /api/v1/artifacts/SHA-256)",
    "http": "give a path on the container's server, such as /healthz",
    "env": "use letters, digits and '_' in names, not beginning with a digit",
}


def message_of(error: ErrorDetails) -> str:
    """What is wrong, in plain words; with the value where it should have been one of a few, which no secret is."""
    if error["type"] == "literal_error" and isinstance(error.get("input"), str):
        return f"{error['input'][:SHOWN]!r} is not known here"
    return MESSAGES.get(error["type"], error["msg"].removeprefix("Value error, "))


def field_of(loc: tuple[int | str, ...]) -> str:
    """``("groups", 0, "command")`` as ``groups.0.command``; keys of mappings are cut to a readable length."""
    return ".".join(str(part)[:FIELD_PART_MAX] for part in loc if part != "[key]")


def _remedy(error: ErrorDetails, kind: type[BaseModel]) -> str:
    name = str(error["loc"][-1]) if error["loc"] else ""
    if name == "[key]" and "env" in error["loc"]:
        return FIELD_REMEDIES["env"]
    if error["type"] == "extra_forbidden":
        return _misplaced(name, _at(kind, error["loc"][:-1]))
    if name in FIELD_REMEDIES and error["type"] == "string_pattern_mismatch":
        return FIELD_REMEDIES[name]
    if name in OF_AXIS and error["type"] == "int_type":
        return amount_remedy(name)
    if error["type"] == "model_type":
        return fields_of(_at(kind, error["loc"]))
    return _of_mistake(error)


def _misplaced(name: str, kind: type[BaseModel]) -> str:
    if name == "source":
        return FIELD_REMEDIES[name]
    for field, known in kind.model_fields.items():
        if (inner := _model(known.annotation)) and name in inner.model_fields:
            return f"it belongs one level deeper: write it within {field}"
    return spelling(name, list(kind.model_fields))


def _of_mistake(error: ErrorDetails) -> str:
    context = error.get("ctx") or {}
    if error["type"] == "string_pattern_mismatch":
        return PATTERN_REMEDIES.get(
            context.get("pattern", ""), "use letters, digits and the punctuation the tenants' guide names for it"
        )
    mistake = "variable" if error["type"] == "string_type" and "env" in error["loc"][-2:-1] else error["type"]
    remedy = REMEDIES.get(mistake, "see the tenants' guide for what this field takes").format_map(context)
    return f"{remedy} without quotes" if _quoted_number(error) else remedy


def _quoted_number(error: ErrorDetails) -> bool:
    """Whether a number was written as a text. Of other texts quotes are not what is wrong."""
    given = error.get("input")
    return error["type"] in {"int_type", "float_type"} and isinstance(given, str) and bool(_NUMBER.fullmatch(given))


def fields_of(kind: type[BaseModel]) -> str:
    """How something is written that has fields."""
    known = kind.model_fields
    needed = [name for name, field in known.items() if field.is_required()] or list(known)[:1]
    return f"write {' and '.join(f'{name}: ...' for name in needed)}; known here: {', '.join(known)}"


def spelling(name: str, known: list[str]) -> str:
    """What to do about a field that there is not: the one that was meant, or all there are."""
    close = get_close_matches(name[:FIELD_PART_MAX], known, 1)
    if close:
        return f"did you mean {close[0]}? Else remove it"
    return f"remove it; known here: {', '.join(known)}" if known else "remove it, there is none here"


def _at(kind: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel]:
    """The model at this place of a ``kind``; the nearest one above where a union leaves it open."""
    for part in loc:
        field = kind.model_fields.get(str(part))
        inner = _model(field.annotation) if field else None
        kind = inner or kind
    return kind


def _model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model(part))), None)


def explain(error: ValidationError, kind: type[BaseModel], prefix: str = "", whole: str = "job") -> list[FieldError]:
    """What is wrong with a ``kind``, at most 50. ``prefix`` stands before each field, ``whole`` is its name."""
    found = error.errors(include_url=False)[:MOST]
    return [_error(e, kind, prefix, whole) for e in found]


def _error(error: ErrorDetails, kind: type[BaseModel], prefix: str, whole: str) -> FieldError:
    if error["type"] == "value_error":  # of several fields together; it says ``field: what is wrong; what to do``
        name, _, said = str(error["ctx"]["error"]).partition(": ")
        message, _, remedy = said.partition("; ")
        return FieldError(prefix + field_of((*error["loc"], name)), message, remedy)
    message = message_of(error)
    return FieldError(prefix + (field_of(error["loc"]) or whole), message, _remedy(error, kind))
