"""Texts and numbers that requests are made of, with their bounds."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from wire import labels

JOB_NAME = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"
DNS = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
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


Whole = Annotated[int, BeforeValidator(_whole)]


GroupName = Annotated[str, StringConstraints(pattern=DNS, max_length=63)]
JobName = Annotated[str, StringConstraints(pattern=JOB_NAME, max_length=128)]
QueuePath = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$", max_length=255)]
Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_.:/=]*$", max_length=63)]
Text = Annotated[str, StringConstraints(pattern=NO_NUL)]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
OutputName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_.]*$", max_length=63)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
PlaceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", max_length=63)]
PartitionName = Annotated[str, StringConstraints(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)]
PortName = Annotated[str, StringConstraints(pattern=DNS, max_length=32)]
HttpPath = Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=255)]
# No escapes and no backslashes in the path, for some read those as other letters, and no fragment.
PAGE = r"^/[-A-Za-z0-9._~!$&'()*+,;=:@/]*(\?[-A-Za-z0-9._~!$&'()*+,;=:@/?%]*)?$"
PagePath = Annotated[str, StringConstraints(pattern=PAGE, max_length=255), AfterValidator(_page)]
RelativePath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_relative)]
Argv = Annotated[list[Text], Field(min_length=1, max_length=4096)]
_TEXT = {"type": "string", "pattern": NO_NUL}
_ARGV = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 4096}
Command = Annotated[Argv, BeforeValidator(_script_as_list), WithJsonSchema({"anyOf": [_ARGV, _TEXT]})]
LabelExpression = Annotated[str, StringConstraints(max_length=labels.MAX_LENGTH), AfterValidator(_label_expression)]
