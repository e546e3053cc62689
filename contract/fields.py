"""Texts and numbers that requests are made of, with their bounds."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from contract import units
from contract.atmost import AtMost
from wire import labels
from wire.resources import GPUS_MAX, OF_AXIS

JOB_NAME = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"
DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SECRET_NAME = r"^[A-Za-z0-9][-A-Za-z0-9_.]*$"  # noqa: S105
NO_NUL = r"^[^\x00]*$"
SOME = r"^[^\x00]+$"  # not empty, and the same
DAYS_30_S = 30 * 86400


def _relative(path: str) -> str:
    """A path below the work folder, nothing else: no root, no step upwards, no control characters."""
    parts = path.split("/")
    if path.startswith("/"):
        raise PydanticCustomError("path", "is absolute")
    if any(part in {"", ".", ".."} for part in parts):
        raise PydanticCustomError("path", "has an empty, '.' or '..' part")
    if any(ord(c) < 32 or ord(c) == 127 for c in path):
        raise PydanticCustomError("path", "holds a control character")
    if len(path.encode()) > 255:
        raise PydanticCustomError("path", "is longer than 255 bytes")
    return path


def _page(path: str) -> str:
    """A path, perhaps with a query, that browsers and servers cannot read as leading out of the folder it is put in."""
    parts = path.partition("?")[0].split("/")
    if any(part in {".", ".."} for part in parts) or "" in parts[1:-1]:
        raise PydanticCustomError("page", "has an empty, '.' or '..' part")
    return path


def _label_expression(text: str) -> str:
    try:
        labels.parse(text)
    except (ValueError, RecursionError) as error:
        why = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise PydanticCustomError("labels", "{why}", {"why": why}) from None
    return text


def _script_as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _whole(value: Any) -> Any:
    """JSON makes no difference between 5 and 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Written:
    """A number that people may also write as a text with units; ``read`` makes the text the number."""

    def __init__(self, read: Callable[[str], int | float], pattern: str) -> None:
        self._read, self._pattern = read, pattern

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def number(value: Any) -> Any:
            return self._read(value) if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(number, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "string", "pattern": self._pattern, "maxLength": 64}]}


def _wrong(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("written", "{message}", {"message": message, "remedy": remedy})


def amount_remedy(axis: str) -> str:
    """How an amount of a resource is written."""
    return f"give a whole number of {OF_AXIS[axis].unit}, or a text with a unit, such as {OF_AXIS[axis].example}"


def _amount_of(axis: str) -> Written:
    unit, remedy = OF_AXIS[axis].unit, amount_remedy(axis)

    def read(text: str) -> int:
        try:
            amount = units.amount(text, axis)
        except units.NotWhole:
            raise _wrong(f"{text!r} does not come to a whole number of {unit}", remedy) from None
        if amount is None:
            raise _wrong(f"{text[:40]!r} is not an amount of {OF_AXIS[axis].word}", remedy)
        return amount

    return Written(read, units.AMOUNT_PATTERN)


def _seconds(text: str) -> float:
    found = units.seconds(text)
    if found is None:
        raise _wrong(f"{text[:40]!r} is not a span of time", f"give seconds, or a text such as {units.SPAN_EXAMPLE}")
    return float(found)


def _whole_seconds(text: str) -> int:
    found = _seconds(text)
    if not found.is_integer():
        raise _wrong(f"{text[:40]!r} does not come to whole seconds", f"give a text such as {units.SPAN_EXAMPLE}")
    return int(found)


Whole = Annotated[int, BeforeValidator(_whole)]


MemoryMib = Annotated[Whole, Field(ge=1, le=2**24), _amount_of("memory_mib")]
VcoresMilli = Annotated[Whole, Field(ge=1, le=2**20), _amount_of("vcores_milli")]
Gpus = Annotated[Whole, Field(ge=0, le=GPUS_MAX), _amount_of("gpus")]
SPAN = Written(_seconds, units.SPAN_PATTERN)  # of a float, in seconds
WHOLE_SPAN = Written(_whole_seconds, units.SPAN_PATTERN)
Timeout = Annotated[Whole, Field(ge=0, le=DAYS_30_S), WHOLE_SPAN]
Grace = Annotated[float, Field(ge=0, le=3600), SPAN]
Estimate = Annotated[float, Field(ge=0, le=DAYS_30_S), SPAN]
GroupName = Annotated[str, StringConstraints(pattern=DNS, max_length=63)]
JobName = Annotated[str, StringConstraints(pattern=JOB_NAME, max_length=128)]
QueuePath = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$", max_length=255)]
Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_.:/=]*$", max_length=63)]
Text = Annotated[str, StringConstraints(pattern=NO_NUL)]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
OutputName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_.]*$", max_length=63)]
SecretName = Annotated[str, StringConstraints(pattern=SECRET_NAME, max_length=63)]
ReceiverName = Annotated[str, StringConstraints(pattern=DNS, max_length=63)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
PlaceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", max_length=63)]
PartitionName = Annotated[str, StringConstraints(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)]
PortName = Annotated[str, StringConstraints(pattern=DNS, max_length=32)]
HttpPath = Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=255)]
# No escapes and no backslashes in the path, for some read those as other letters, and no fragment.
PAGE = r"^/[-A-Za-z0-9._~!$&'()*+,;=:@/]*(\?[-A-Za-z0-9._~!$&'()*+,;=:@/?%]*)?$"
PagePath = Annotated[str, StringConstraints(pattern=PAGE, max_length=255), AfterValidator(_page)]
RelativePath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_relative)]
Argv = Annotated[list[Text], AtMost(4096, least=1)]
_TEXT = {"type": "string", "pattern": NO_NUL}
_ARGV = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 4096}
Command = Annotated[Argv, BeforeValidator(_script_as_list), WithJsonSchema({"anyOf": [_ARGV, _TEXT]})]
LabelExpression = Annotated[str, StringConstraints(max_length=labels.MAX_LENGTH), AfterValidator(_label_expression)]
