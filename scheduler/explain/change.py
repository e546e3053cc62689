"""The smallest change that would start a waiting ask, each candidate tried before it is told."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scheduler.explain.amounts import amounts_text
from scheduler.explain.feasibility import FreePieces, free_pieces
from scheduler.explain.forecast import units_that_fit

Change = dict[str, Any]
Relaxed = Callable[[], Sequence[tuple[str, np.ndarray]]]
InAll = Callable[[int, np.ndarray], np.ndarray]
_PLENTY = 0.5  # a container that keeps this share of what was asked is still the same work
LEAST = 0.1  # less than this share of what was asked is no advice


@dataclass(frozen=True, slots=True)
class Situation:
    """What an ask has before it after a round.

    shape: (r,). units: wanted at once. free: (n, r) on the nodes. usable: (n,)
    bool, those it may be placed on. pieces: what these have for it. room: (p, r)
    below each maximum above it. maxima_names: what those belong to. in_all: by
    how much the maximum of this row must rise in all sub-clusters together, so that what counts here rises by
    (r,) amounts; None where there is one only.
    """

    axis: tuple[str, ...]
    shape: np.ndarray
    units: int
    free: np.ndarray
    usable: np.ndarray
    pieces: FreePieces
    room: np.ndarray
    maxima_names: tuple[str, ...]
    in_all: InAll | None = None

    def starts(self) -> bool:
        """Whether ``units`` containers would start."""
        return self.pieces.fits >= self.units and not self.lacking().any()

    def lacking(self) -> np.ndarray:
        """What each maximum lacks: (p, r) int64."""
        need = self.shape * self.units
        return np.where(need > 0, np.maximum(need - self.room, 0), 0)

    def at_most(self) -> int:
        """Containers that would start, however many are wanted."""
        return int(min(self.pieces.fits, units_that_fit(self.room, self.shape).min(initial=self.units)))

    def elsewhere(self, free: np.ndarray, usable: np.ndarray) -> "Situation":
        """The same on other nodes."""
        return replace(self, free=free, usable=usable, pieces=free_pieces(free, usable, self.shape))

    def asking(self, k: int, amount: int) -> "Situation":
        """The same with another amount of resource k."""
        shape = self.shape.copy()
        shape[k] = amount
        return replace(self, shape=shape, pieces=free_pieces(self.free, self.usable, shape))


def smallest_change(
    situation: Situation, relaxed: Relaxed, waits_for_locality: bool, least: float = LEAST
) -> Change | None:
    """The first of these that starts it, or None: go anywhere, fewer at once, fewer labels, a little smaller,
    higher maxima, much smaller, higher maxima and one of the others, fewer GPUs.

    least: the share of what was asked that a smaller container must keep.
    """
    if waits_for_locality and situation.starts():
        return {"what": "locality", "text": "Let it run on any node now, not only near the data it prefers."}
    for change, _ in _of_the_job(situation, relaxed, _PLENTY):
        return change
    raised, by = _raise(situation)
    if by and raised.starts():
        return by
    for change, _ in _smaller(situation, least):
        return change
    if by:
        for change, then in _of_the_job(raised, relaxed, least):
            _, by = _raise(replace(then, room=situation.room))
            text = f"{by['text'].rstrip('.')}, and {change['text'][0].lower()}{change['text'][1:]}"
            return {"what": "several", "changes": [by, change], "text": text}
    return _fewer_gpus(situation)


def _of_the_job(situation: Situation, relaxed: Relaxed, least: float) -> Iterator[tuple[Change, Situation]]:
    """Changes to what is asked that start it, each with the situation it leads to."""
    fewer = situation.at_most()
    if 1 <= fewer < situation.units:
        change = {
            "what": "gang",
            "at_once": fewer,
            "text": f"Ask for {fewer:,} instead of {situation.units:,} at once.",
        }
        yield change, replace(situation, units=fewer)
    for text, usable in relaxed():
        there = situation.elsewhere(situation.free, usable)
        if there.starts():
            yield {"what": "nodes", "text": text}, there
    yield from _smaller(situation, least)


def _raise(situation: Situation) -> tuple[Situation, Change]:
    """The situation with every maximum just high enough, and how to get there; no change when none is in the way."""
    lacks = situation.lacking()
    raised = replace(situation, room=situation.room + lacks)
    rows = np.flatnonzero(lacks.any(axis=1))
    if not len(rows):
        return raised, {}
    rise = {row: situation.in_all(row, lacks[row]) if situation.in_all else lacks[row] for row in rows.tolist()}
    by = [
        {"of": situation.maxima_names[row], "by": {situation.axis[k]: int(more[k]) for k in np.flatnonzero(more)}}
        for row, more in rise.items()
    ]
    parts = [f"{situation.maxima_names[row]} by {amounts_text(situation.axis, more)}" for row, more in rise.items()]
    together = ""
    if situation.in_all:
        parts = [
            f"{part} ({amounts_text(situation.axis, lacks[row])} here)" for part, row in zip(parts, rise, strict=True)
        ]
        together = " at least in all sub-clusters together, because a limit is divided over them"
    return raised, {"what": "maximum", "raise": by, "text": f"Raise {' and '.join(parts)}{together}."}


def _smaller(situation: Situation, least: float) -> Iterator[tuple[Change, Situation]]:
    """Containers with less of one resource, or else of several, that keep at least the share ``least`` of each."""
    options = []
    for k in np.flatnonzero(situation.shape).tolist():
        amount = _most(situation, k, max(1, int(np.ceil(situation.shape[k] * least))))
        if amount is not None:
            options.append((-amount / situation.shape[k], k, amount))
    if options:
        _, k, amount = min(options)
        yield _at_most(situation, {k: amount})
    elif (fitted := _fitted(situation, least)) is not None:
        yield _at_most(situation, {k: int(fitted[k]) for k in np.flatnonzero(fitted < situation.shape).tolist()})


def _fewer_gpus(situation: Situation) -> Change | None:
    """Where there are too few or none at all: most programs can do with any number, and with none."""
    k = situation.axis.index("gpus") if "gpus" in situation.axis else -1
    amount = _most(situation, k, 0) if k >= 0 and situation.shape[k] else None
    if amount is None or not situation.asking(k, amount).starts():
        return None
    change, _ = _at_most(situation, {k: amount})
    return change if amount else change | {"text": "Ask for no GPUs."}


def _at_most(situation: Situation, amounts: dict[int, int]) -> tuple[Change, Situation]:
    shape = situation.shape.copy()
    shape[list(amounts)] = list(amounts.values())
    asked = np.where(shape < situation.shape, shape, 0)
    change = {
        "what": "container",
        "per_container_at_most": {situation.axis[k]: amount for k, amount in amounts.items()},
        "text": f"Ask for at most {amounts_text(situation.axis, asked)} per container.",
    }
    return change, replace(situation, shape=shape)


def _most(situation: Situation, k: int, least: int) -> int | None:
    """The most of resource k, from ``least`` up to what is asked, with which it starts; None without any."""
    asked = int(situation.shape[k])
    if situation.units == 1:
        lacks = situation.lacking()
        lacks[:, k] = 0
        on_nodes = asked if situation.pieces.fits else int(situation.pieces.alone[k])
        amount = min(on_nodes, int(situation.room[:, k].min(initial=asked)))
        return amount if least <= amount < asked and not lacks.any() else None
    low, high = least, asked - 1
    if low > high or not situation.asking(k, low).starts():
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if situation.asking(k, middle).starts():
            low = middle
        else:
            high = middle - 1
    return low


def _fitted(situation: Situation, least: float) -> np.ndarray | None:
    """The container that comes closest to what is asked on one node, resource by resource: (r,), or None."""
    asked = situation.shape > 0
    if situation.units > 1 or not situation.usable.any() or not asked.any():
        return None
    piece = np.minimum(situation.pieces.nearest, situation.shape)
    if len(situation.room):
        piece = np.minimum(piece, situation.room.min(axis=0))
    found: np.ndarray = np.where(asked, piece, 0)
    enough = found[asked] >= np.maximum(1, situation.shape[asked] * least)
    return found if enough.all() else None
