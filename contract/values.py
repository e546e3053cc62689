"""Single values that people give, and arrays of them: a group's tasks differ in these."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from wire import arrays
from wire.arrays import NAME

VALUE_MAX = 4096  # characters of one
ARRAY_MAX, ARRAY_NAMES_MAX = 1_000_000, 16  # tasks; names
_NAME = re.compile(NAME)
_REMEDY = "give a text, a finite number, true or false"
_ARRAY_REMEDY = "write it like {rate: [0.1, 0.01], seed: [1, 2]}, for all combinations, or [{rate: 0.1, seed: 1}, ...]"
SCALAR_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string", "maxLength": VALUE_MAX}, {"type": "number"}, {"type": "boolean"}]
}
_ARRAY_SCHEMA: dict[str, Any] = {"anyOf": [
    {"type": "object", "maxProperties": ARRAY_NAMES_MAX,
     "additionalProperties": {"type": "array", "items": SCALAR_SCHEMA}},
    {"type": "array", "items": {"type": "object", "additionalProperties": SCALAR_SCHEMA}},
]}  # fmt: skip


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > VALUE_MAX or "\0" in value:
            what = {"most": VALUE_MAX, "remedy": "put it into a file of the job"}
            raise PydanticCustomError("written", "is longer than {most} characters, or has a NUL", what)
    elif not isinstance(value, int | float) or not abs(value) < 1e300:
        raise PydanticCustomError("written", "is no single value", {"remedy": _REMEDY})
    return value


def _array(array: Any) -> Any:
    """An array over values, or nothing."""
    rows = array if isinstance(array, list) else [array]
    if not all(isinstance(row, dict) for row in rows):
        raise _no_array("is neither a mapping of names to lists nor a list of mappings")
    own = {name for row in rows for name in row}
    if len(own) > ARRAY_NAMES_MAX or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in own):
        raise _no_array(f"has a name that cannot be one, or more than {ARRAY_NAMES_MAX} names")
    if len({arrays.variable(name) for name in own}) < len(own):
        raise _no_array("has two names that differ only in capitals")
    if any(row.keys() != own for row in rows) or (isinstance(array, list) and array and not own):
        raise _no_array("has mappings of different names, or of none")
    lists = list(array.values()) if isinstance(array, dict) else [list(row.values()) for row in rows]
    if not all(isinstance(each, list) and each for each in lists):
        raise _no_array("has a name without a list of values")
    if array and arrays.size(array) > ARRAY_MAX:
        raise _no_array(f"comes to more than {ARRAY_MAX:,} tasks")
    for value in (value for each in lists for value in each):
        _scalar(value)
    return array


def _no_array(why: str) -> PydanticCustomError:
    return PydanticCustomError("written", "{why}", {"why": why, "remedy": _ARRAY_REMEDY})


def array_names(array: Any) -> set[str]:
    """The names of a group's array, as far as it is one."""
    first = array[0] if isinstance(array, list) and array else array
    return {name for name in first if isinstance(name, str)} if isinstance(first, dict) else set()


ValueName = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]
Value = Annotated[Any, AfterValidator(_scalar), WithJsonSchema(SCALAR_SCHEMA)]
ArrayOfValues = Annotated[Any, AfterValidator(_array), WithJsonSchema(_ARRAY_SCHEMA)]
