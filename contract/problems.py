"""What goes wrong, as the API says it: problem documents (RFC 9457) with what is wrong field by field."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from contract.base import ALL_SAID, Answer


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with a request. ``field``: dotted path in the body, or a parameter's name."""

    __pydantic_config__: ClassVar[ConfigDict] = ALL_SAID | {"json_schema_extra": {"additionalProperties": False}}

    field: str
    message: str
    remedy: str = ""

    def line(self) -> str:
        """``field: message. Remedy.`` on one line."""
        where = f"{self.field}: " if self.field else ""
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
