"""Amounts and spans of time as people write them: ``64 GiB``, ``500m``, ``1h30m``.

One grammar for job files and the policy document. What is stored are numbers of the field's own unit.
"""

import re
from decimal import Decimal

from wire.resources import OF_AXIS

NUMBER = r"\d{1,16}(?:\.\d{1,9})?"
_AMOUNT = re.compile(rf"({NUMBER}) ?([A-Za-z%]+)", re.ASCII)
_SECONDS = {
    "d": Decimal(86400),
    "h": Decimal(3600),
    "min": Decimal(60),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("0.001"),
}
_PART = rf"{NUMBER} ?(?:{'|'.join(sorted(_SECONDS, key=len, reverse=True))})"
_SPAN = re.compile(rf"{_PART}(?: ?{_PART})*", re.ASCII)
_PARTS = re.compile(rf"({NUMBER}) ?([a-z]+)", re.ASCII)
AMOUNT_PATTERN = rf"^{NUMBER} ?[A-Za-z]+$"
SPAN_PATTERN = rf"^({NUMBER} ?[a-z]+ ?)+$"
SPAN_EXAMPLE = "90s, 5m or 1h30m"


class NotWhole(ValueError):
    """It is an amount, but not of whole units."""


def number_and_unit(text: str) -> tuple[Decimal, str] | None:
    """``64 GiB`` as 64 and ``GiB``, ``40%`` as 40 and ``%``; none where it is not written so."""
    found = _AMOUNT.fullmatch(text)
    return (Decimal(found[1]), found[2]) if found else None


def amount(text: str, axis: str) -> int | None:
    """How many of a resource's own units that is; none where it is no amount of it. ``NotWhole``."""
    found = number_and_unit(text)
    size = OF_AXIS[axis].units.get(found[1]) if found else None
    if found is None or size is None:
        return None
    return whole(found[0] * size)


def seconds(text: str) -> Decimal | None:
    """A span of time: days, hours, minutes, seconds and milliseconds, each once at most and the larger ones first.

    None where it is no span.
    """
    if not _SPAN.fullmatch(text):
        return None
    parts = [(Decimal(number), _SECONDS[unit]) for number, unit in _PARTS.findall(text)]
    sizes = [size for _, size in parts]
    if sizes != sorted(set(sizes), reverse=True):
        return None
    return sum((number * size for number, size in parts), Decimal(0))


def whole(value: Decimal) -> int:
    """The number; ``NotWhole``."""
    if value != value.to_integral_value():
        raise NotWhole
    return int(value)
