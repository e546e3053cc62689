"""The grammar of queue limits: shares of the parent and amounts of a resource.

A limit is one share for every resource, or a mapping from resources to shares
or amounts:

- a number from 0 to 1, or a text such as ``40%``: a share of the parent's same limit;
- a whole number from 2 on: that many of the resource's own unit (MiB, thousandths of a core, devices);
- a text with a unit: ``64 GiB``, ``32 cores``, ``500m``, ``1 gpu``; it must come to whole units.

So 1 is always the whole, and one device is ``1 gpu``.
"""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from contract import units
from wire.resources import OF_AXIS, RESOURCES

Amount = tuple[float, int]  # (share of the parent, units)
MOST = 1 << 50
EXAMPLE = "{memory_mib: 2 GiB, vcores_milli: 2 cores}"
_TEXT_SCHEMA = {"type": "string", "pattern": r"^\d{1,16}(\.\d{1,9})? ?([A-Za-z]+|%)$"}
_SHARE_SCHEMA = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": r"^[\d.]+ ?%$"}]
}
_AMOUNT_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0, "maximum": MOST}, _TEXT_SCHEMA]}


def _wrong(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("limit", "{message}", {"message": message, "remedy": remedy})


def share(value: Any) -> float:
    """A share of the parent from a number or a text such as ``40%``."""
    remedy = f"give a share of the parent from 0 to 1 (0.4 or 40%), or shares and amounts of resources: {EXAMPLE}"
    if isinstance(value, str):
        if (part := _percent(value)) is not None:
            return part
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise _wrong(f"{str(value)[:40]!r} is not a share", remedy)


def _percent(text: str) -> float | None:
    """``40%`` as 0.4; none where it is no such text."""
    found = units.number_and_unit(text)
    return float(found[0] / 100) if found and found[1] == "%" and found[0] <= 100 else None


def _amount_of(resource: str) -> Callable[[Any], Amount]:
    remedy = f"give a share from 0 to 1, a whole number from 2 on, or a text such as 40% or {OF_AXIS[resource].example}"

    def parse(value: Any) -> Amount:
        if isinstance(value, str):
            if (part := _percent(value)) is not None:
                return part, 0
            try:
                amount = units.amount(value, resource)
            except units.NotWhole:
                amount = MOST + 1
            if amount is not None and amount <= MOST:
                return 0.0, amount
            if amount is not None:
                raise _wrong(f"{value!r} does not come to a whole number of {resource}", remedy)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if 0 <= value <= 1:
                return float(value), 0
            if 2 <= value <= MOST and value == int(value):
                return 0.0, int(value)
        raise _wrong(f"{str(value)[:40]!r} is neither a share nor an amount of {resource}", remedy)

    return parse


def _spread(value: Any) -> Any:
    """One share stands for every resource."""
    return value if isinstance(value, dict) else {r.axis: share(value) for r in RESOURCES}


Memory = Annotated[Amount | None, PlainValidator(_amount_of("memory_mib")), WithJsonSchema(_AMOUNT_SCHEMA)]
Cores = Annotated[Amount | None, PlainValidator(_amount_of("vcores_milli")), WithJsonSchema(_AMOUNT_SCHEMA)]
Gpus = Annotated[Amount | None, PlainValidator(_amount_of("gpus")), WithJsonSchema(_AMOUNT_SCHEMA)]


class LimitByResource(BaseModel):
    """A limit per resource. What is left out is 0 of a guarantee, and all of the parent's maximum."""

    model_config = ConfigDict(extra="forbid")

    memory_mib: Memory = None
    vcores_milli: Cores = None
    gpus: Gpus = None


_SCHEMA = {
    "anyOf": [
        *_SHARE_SCHEMA["anyOf"],
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {r.axis: _AMOUNT_SCHEMA | {"examples": [r.example]} for r in RESOURCES},
        },
    ]
}
Limit = Annotated[LimitByResource, BeforeValidator(_spread), WithJsonSchema(_SCHEMA)]
