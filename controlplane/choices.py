"""Names with labels, for columns of models; typed, which Django's own are not."""

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:

    class TextChoices(StrEnum):
        """``django.db.models.TextChoices``: each member a value and what people read."""

        choices: ClassVar[list[tuple[str, str]]]
        values: ClassVar[list[str]]
        label: str

        def __new__(cls, value: str, label: str = "") -> Self: ...

    class IntegerChoices(IntEnum):
        """``django.db.models.IntegerChoices``, likewise."""

        choices: ClassVar[list[tuple[int, str]]]
        values: ClassVar[list[int]]
        label: str

        def __new__(cls, value: int, label: str = "") -> Self: ...

else:
    from django.db.models import IntegerChoices, TextChoices

__all__ = ["IntegerChoices", "TextChoices"]
