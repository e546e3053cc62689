"""Lists and mappings of a bounded length, of whose mistakes a bounded number is looked for.

Pydantic looks at all that a list has before it counts it, and keeps an error for each mistake: of a body of 2 MB three
quarters of a million.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

MOST = 50  # errors that are told
AT_ONCE = 10  # items that are looked at before errors are counted


@dataclass(frozen=True, slots=True)
class AtMost:
    """Of a list or a mapping in ``Annotated``: it has ``most`` items, and ``least``. What is longer is not looked at,
    and nothing of a list is after ``MOST`` errors."""

    most: int
    least: int = 0

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        schema |= {"max_length": self.most} | ({"min_length": self.least} if self.least else {})
        return core_schema.no_info_wrap_validator_function(self._looked_at, schema)

    def _looked_at(self, items: Any, validated: Callable[[Any], Any]) -> Any:
        if isinstance(items, (list, dict)) and len(items) > self.most:
            kind = "List" if isinstance(items, list) else "Dictionary"
            told = {"field_type": kind, "max_length": self.most, "actual_length": len(items)}
            raise PydanticKnownError("too_long", told)
        if not isinstance(items, list) or len(items) <= AT_ONCE:
            return validated(items)
        sound, wrong = [], 0
        for begin in range(0, len(items), AT_ONCE):
            end = begin + AT_ONCE
            try:
                sound += validated(items[begin:end])
            except ValidationError as error:
                wrong += error.error_count()
            if wrong > MOST:
                return validated(items[:end])  # once more, for the errors' places in the whole
        return validated(items) if wrong else sound
