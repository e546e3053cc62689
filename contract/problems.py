"""What goes wrong, as the API says it: problem documents (RFC 9457) with what is wrong field by field."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from contract.base import ALL_SAID, Answer

FIELD_PART_MAX = 64  # characters of a mapping's key in a field's path


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with a request. ``field``: dotted path in the body, or a parameter's name.

    ``group``: the name of the task group it is in. ``line``, ``column``: where it stands in the text that was sent or
    read, from 1; 0 where nobody knows.
    """

    __pydantic_config__: ClassVar[ConfigDict] = {**ALL_SAID, "json_schema_extra": {"additionalProperties": False}}

    field: str
    message: str
    remedy: str = ""
    group: str = ""
    line: int = 0
    column: int = 0

    @property
    def where(self) -> str:
        """``groups.0.count (group map, line 4, column 12)``, of which what nobody knows is left out."""
        column = f", column {self.column}" if self.column else ""
        spot = f"line {self.line}{column}" if self.line else ""
        known = ", ".join(part for part in (self.group and f"group {self.group}", spot) if part)
        return f"{self.field} ({known})".lstrip() if known else self.field

    def said(self) -> str:
        """``where: message. Remedy.`` on one line."""
        where = f"{self.where}: " if self.where else ""
        remedy = self.remedy if self.remedy.startswith("hydractl") else self.remedy[:1].upper() + self.remedy[1:]
        return where + " ".join(sentence(part) for part in (self.message, remedy) if part)


class Problem(Answer):
    """A problem document. ``status`` is the HTTP status; of a client's own, 0: no answer came."""

    model_config = ALL_SAID

    title: str
    status: int = 0
    detail: str = ""
    type: str = "about:blank"
    errors: list[FieldError] = []


def sentence(text: str) -> str:
    """One line that ends in a stop."""
    flat = " ".join(text.split())
    return flat if not flat or flat[-1] in ".!?:" else flat + "."
