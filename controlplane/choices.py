"""Names with labels, for columns of models; typed, which Django's own are not."""

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:

    class TextChoices(StrEnum):
        """``django.db.models.TextChoices``: each member a value and what people read."""

        choices: ClassVar[list[tuple[str, str]]]
        values: ClassVar[list[str]]
        label: str

        def __new__(cls, value: str, label: str = "") -> Self: ...

else:
    from django.db.models import TextChoices

__all__ = ["TextChoices"]
