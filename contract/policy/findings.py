"""What is wrong with a document's shape, in plain words."""

import copy
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from contract import findings
from contract.policy import rules
from contract.policy.components import OF_THE_WHOLE
from contract.policy.document import PolicyDocument
from contract.policy.federation import TAG
from contract.problems import FieldError

MAX_FIELD = 1000
# What is more about documents than about other requests.
REMEDIES = findings.REMEDIES | {
    "policy_name": "use one of: {expected}",
    "limit": "{remedy}",
    "recursion_depth_exceeded": "use at most {levels} levels",
}
ROLES = ("role:operator", "role:tenant", "role:viewer")
_ACCESS = "name accounts, or role:operator, role:tenant or role:viewer"
NAMES = {
    "submit": _ACCESS,
    "administer": _ACCESS,
    "approvers": "name accounts, or role:operator",
    "[key]": "name it with lower-case letters, digits, '-' and '_', at most 63 characters; partitions without '_'",
}


def explain(error: ValidationError | RecursionError) -> list[FieldError]:
    """What has the wrong shape, at most 50: field, message and remedy."""
    if not isinstance(error, ValidationError):
        return [FieldError("queues", "is nested too deeply", f"use at most {rules.MAX_LEVELS} levels")]
    found = error.errors(include_url=False)[: rules.MAX_ERRORS]
    return [FieldError(_path(e), _said(e), _remedy(e)) for e in found]


def contradictions(document: Any, error: ValidationError | RecursionError) -> list[FieldError]:
    """Guarantees and maxima that cannot all be kept, of those of the right shape: so that all is told at once."""
    if not isinstance(error, ValidationError) or not isinstance(document, dict):
        return []
    places = [each["loc"] for each in error.errors(include_url=False, include_context=False, include_input=False)]
    try:
        rest = copy.deepcopy(document)
        for within, name in [_innermost(rest, place) for place in places]:
            within.pop(name, None)
        return [*rules.amounts(PolicyDocument.model_validate(rest))]
    except (ValidationError, RecursionError):
        return []


def _innermost(document: dict[Any, Any], place: tuple[int | str, ...]) -> tuple[dict[Any, Any], Any]:
    """The last mapping on the way to what is wrong, and the field of it that leads there."""
    at: Any = document
    found: tuple[dict[Any, Any], Any] = document, None
    for part in place:
        if isinstance(at, dict) and part in at:
            at, found = at[part], (at, part)
        elif isinstance(at, list) and isinstance(part, int) and part < len(at):
            at = at[part]
        elif not str(part).startswith(TAG):
            break
    return found


def _said(error: Any) -> str:
    value = error["input"]
    if error["type"] == "string_pattern_mismatch" and isinstance(value, str):  # a document holds no secret
        return f"{value[: findings.SHOWN]!r} is not written as it has to be here"
    return findings.message_of(error)


def _path(error: Any) -> str:
    named = [str(part)[:64] for part in error["loc"] if part != "[key]" and not str(part).startswith(TAG)]
    return ".".join(named + ["policy"] * (error["type"] == "policy_name"))[:MAX_FIELD] or "document"


def _remedy(error: Any) -> str:
    if error["type"] == "string_pattern_mismatch":
        meant = get_close_matches(str(error["input"])[: findings.SHOWN], ROLES, 1)
        known = next((NAMES[part] for part in reversed(error["loc"]) if part in NAMES), "use letters, digits and '-'")
        return f"did you mean {meant[0]}? Else {known}" if meant and known == _ACCESS else known
    if error["loc"][:1] == ("sub_clusters",) and error["loc"][-1] in OF_THE_WHOLE:
        return f"set components.{error['loc'][-1]}, which is one for all sub-clusters"
    if error["type"] == "extra_forbidden":
        return findings.spelling(str(error["loc"][-1]), _fields(error["loc"][:-1]))
    context: dict[str, Any] = {"levels": rules.MAX_LEVELS}
    context |= {name: f"{v:g}" if isinstance(v, float) else v for name, v in (error.get("ctx") or {}).items()}
    return REMEDIES.get(error["type"], "see docs/operators.md for the document's shape").format_map(context)


def _fields(loc: tuple[int | str, ...]) -> list[str]:
    """Names of the fields beside the one that is wrong."""
    models: list[Any] = [PolicyDocument]
    for part in loc:
        if str(part).startswith(TAG):  # which of a component's policies it is
            models = [m for m in models if str(part)[len(TAG) :] in get_args(m.model_fields["policy"].annotation)]
        elif field := getattr(models[0], "model_fields", {}).get(part) if models else None:
            models = models_in(field.annotation)
        # else it is a name within a mapping
    return list(models[0].model_fields) if models else []


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models of a field: of a union all, of a list or mapping those within."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for a in getattr(annotation, "__args__", ()) for m in models_in(a)]
