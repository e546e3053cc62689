"""Amounts of resources, and times, as people say them."""

import numpy as np

from wire.resources import OF_AXIS


def amount_number(resource: str, amount: int) -> str:
    """Cores, not thousandths."""
    known = OF_AXIS.get(resource)
    return f"{amount:,}" if known is None or known.in_mib or known.large == 1 else f"{amount / known.large:g}"


def amount_text(resource: str, amount: int) -> str:
    """``2,048 MiB of memory``, ``1 core``."""
    text = amount_number(resource, amount)
    known = OF_AXIS.get(resource)
    if known is None:
        return f"{text} of {resource}"
    word = known.one if text == "1" else known.word
    return f"{text} MiB of {word}" if known.in_mib else f"{text} {word}"


def amounts_text(axis: tuple[str, ...], amounts: np.ndarray) -> str:
    """``2,048 MiB of memory and 2 cores``: what is not zero."""
    parts = [amount_text(axis[k], int(amounts[k])) for k in np.flatnonzero(amounts).tolist()]
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else (parts or ["nothing"])[0]


def by_resource(axis: tuple[str, ...], amounts: np.ndarray, which: np.ndarray) -> dict[str, int]:
    """The amounts where ``which`` (r,) holds, by resource; what is overdrawn counts as nothing."""
    return {axis[k]: max(0, int(amounts[k])) for k in np.flatnonzero(which).tolist()}


def shortest(asked: np.ndarray, there: np.ndarray) -> int:
    """The resource of which least of what is asked is there, as a share; of those alike the first."""
    share = np.where(asked > 0, np.maximum(there, 0) / np.maximum(asked, 1), np.inf)
    return int(np.argmin(share))


def duration_text(seconds: float) -> str:
    """``40 s``, ``3 min``, ``2 h``."""
    if seconds < 90:
        return f"{max(0.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
