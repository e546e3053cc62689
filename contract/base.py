"""What answers and requests have in common, and amounts of resources, which many of them hold."""

from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, WithJsonSchema, model_validator

from contract.atmost import MOST
from wire.resources import AXES


def one_of(*words: str) -> WithJsonSchema:
    """For a text of an answer: the words there are. A newer server may say another, which its readers take as it is."""
    return WithJsonSchema({"type": "string", "enum": list(words)})


# The API says every field, also those that have a default for whoever makes such an answer.
ALL_SAID = ConfigDict(json_schema_serialization_defaults_required=True)


class Answer(BaseModel):
    """Something the API answers. Times are UTC, ISO 8601; units stand last in names.

    The API answers every field, and no other. Readers pass over what a newer server adds; a field that was added after
    a release takes a default, for answers of older servers.
    """

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        defer_build=True,
        json_schema_extra={"additionalProperties": False},
    )


class Request(BaseModel):
    """Something the API is asked. Unknown fields are refused, and no value is converted from another type."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _with_few_unknown(cls, said: Any) -> Any:
        """Each unknown field is an error: of very many the first are enough."""
        if not isinstance(said, dict) or len(said) <= MOST:
            return said
        unknown = islice((name for name in said if name not in cls.model_fields), MOST + 1)
        return {name: said[name] for name in (*cls.model_fields.keys() & said.keys(), *unknown)}


class Page(Answer):
    """Part of a list. ``next``, ``previous``: addresses of its neighbours."""

    next: str | None
    previous: str | None


class Amounts(Answer):
    """1000 ``vcores_milli`` are one core."""

    memory_mib: int
    vcores_milli: int
    gpus: int

    @property
    def nothing(self) -> bool:
        return not any(getattr(self, axis) for axis in AXES)


class Measured(Answer):
    """What runs really takes, as nodes measured it."""

    memory_mib: int
    cpu_milli: int


class Containers(Amounts):
    """Containers, and what they take together."""

    containers: int
