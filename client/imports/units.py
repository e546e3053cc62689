"""Amounts as other systems write them. Each reader raises ``ValueError`` with what is wrong, in words."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

from client.imports.report import shown

_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_UNLIMITED = ("unlimited", "infinite")
_SLURM_MIB = {"K": Decimal(1) / 1024, "M": Decimal(1), "G": Decimal(1024), "T": Decimal(1024) ** 2}
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)B?", re.IGNORECASE)
_QUANTITY = re.compile(r"([+]?\d+(?:\.\d*)?|[+]?\.\d+)(?:[eE]([+-]?\d+)|(m|[kKMGTPE]i?))?")
_POWERS = "kMGTPE"
MOST_TASKS = 1_000_000


def whole_up(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_CEILING))


def slurm_seconds(text: str) -> int:
    """``M``, ``M:S``, ``H:M:S``, ``D-H``, ``D-H:M`` or ``D-H:M:S`` in seconds; 0 for no limit."""
    if text.lower() in _UNLIMITED:
        return 0
    found = _CLOCK.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a time: write MINUTES, HOURS:MINUTES:SECONDS or DAYS-HOURS:MINUTES:SECONDS")
    days, *rest = (int(part) if part is not None else None for part in found.groups())
    first, second, third = rest[0] or 0, rest[1], rest[2]
    if days is not None:
        return ((days * 24 + first) * 60 + (second or 0)) * 60 + (third or 0)
    if third is not None:
        return (first * 60 + (second or 0)) * 60 + third
    return first * 60 + (second or 0)


def slurm_mib(text: str) -> Decimal:
    """``4000``, ``4000M``, ``4G`` in MiB."""
    found = _MEMORY.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not an amount of memory: write it like 4000M or 4G")
    return Decimal(found[1]) * _SLURM_MIB[found[2].upper() or "M"]


def quantity(value: object) -> Decimal:
    """Kubernetes' ``500m``, ``2``, ``0.5``, ``128Mi``, ``1G``, ``1e9``."""
    found = _QUANTITY.fullmatch(str(value)) if isinstance(value, int | float | str) else None
    if not found or isinstance(value, bool):
        raise ValueError(f"{shown(value)} is not a quantity: write it like 500m, 2 or 128Mi")
    number, exponent, suffix = Decimal(found[1]), found[2], found[3]
    if exponent:
        if len(exponent) > 6 or abs(int(exponent)) > 30:
            raise ValueError(f"{shown(value)} is out of all bounds")
        return number * Decimal(10) ** int(exponent)
    if suffix == "m":
        return number / 1000
    if suffix:
        power = _POWERS.index("k" if suffix[0] == "K" else suffix[0]) + 1
        return number * (Decimal(1024) if suffix.endswith("i") else Decimal(1000)) ** power
    return number


def array_indices(text: str) -> tuple[list[int], int | None]:
    """The indices of ``0-15``, ``1,3,7`` or ``0-15:4``, ascending, and how many may run at once (``%4``)."""
    listed, percent, most = text.partition("%")
    if percent and not (most.isascii() and most.isdigit() and int(most)):
        raise ValueError(f"{most!r} is not a number of tasks that may run at once")
    ranges = [_range(part) for part in listed.split(",")]
    if sum(map(len, ranges)) > MOST_TASKS:
        raise ValueError(f"{text!r} has more than {MOST_TASKS:,} tasks")
    return sorted({index for each in ranges for index in each}), int(most) if percent else None


def _range(text: str) -> range:
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", text)
    if not found:
        raise ValueError(f"{text!r} is not a range of indices: write it like 0-15, 1,3,7 or 0-15:4")
    first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
    if last < first or step < 1:
        raise ValueError(f"{text!r} is a range of nothing")
    return range(first, last + 1, step)
