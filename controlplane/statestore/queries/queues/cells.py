"""Why a queue was given what it was given in a place: which rule binds, in words. Pure: numbers in, a sentence out."""

from dataclasses import dataclass

from wire.resources import RESOURCES

LITTLE = 1e-3  # of the capacity of a place: what is smaller is rounding
RULES = ("demand", "idle", "vain", "maximum", "guarantee", "capacity", "weight", "size", "none")


@dataclass(frozen=True, slots=True)
class Cell:
    """One resource of a queue's whole subtree in a place, in units; ``all_`` is the sum over the places.

    pending: waits, as far as a node there could hold it; vain: the rest.
    full: all of the place is given away. limit: the queue at whose maximum it
    is, itself or one above it; "" without. by_size: shares do not follow demand.
    sized: what it is guaranteed here by the place's size alone.
    """

    axis: int
    place: str
    by_size: bool
    assigned: bool
    used: int
    pending: int
    vain: int
    share: int
    guaranteed_part: int
    ceiling: int
    sized: int
    capacity: int
    all_capacity: int
    all_share: int
    guaranteed: int
    weight: float
    siblings: float
    full: bool
    limit: str
    maximum: int

    @property
    def wants(self) -> int:
        return self.used + self.pending

    @property
    def little(self) -> float:
        return max(1.0, LITTLE * self.capacity)


def rule(c: Cell) -> str:
    """Which of ``RULES`` binds."""
    if c.by_size or not c.assigned:
        return "size" if c.by_size else "none"
    if c.share >= c.wants - c.little:
        return "demand" if c.wants else "vain" if c.vain else "idle"
    if c.limit or c.share >= c.ceiling - c.little:
        return "maximum"
    if c.full and c.share - c.guaranteed_part <= c.little:
        return "guarantee" if c.all_share >= c.guaranteed - c.little else "capacity"
    return "weight"


def why(c: Cell) -> str:
    """The rule as a sentence with its numbers."""
    return _WORDS[rule(c)](c)


def said(axis: int, amount: int) -> str:
    """``12 GiB of memory``, ``1.5 cores``, ``2 GPUs``."""
    resource = RESOURCES[axis]
    if resource.in_mib and amount < resource.large:
        return f"{amount} MiB of {resource.word}"
    counted = amount / resource.large
    number = f"{counted:.3g}" if counted < 100 else f"{counted:,.0f}"
    word = resource.one if number == "1" else resource.word
    return f"{number} GiB of {word}" if resource.in_mib else f"{number} {word}"


def _amounts(c: Cell) -> str:
    used, pending = said(c.axis, c.used), said(c.axis, c.pending)
    return f"wants {said(c.axis, c.wants)} in {c.place}: {used} in use, {pending} waiting{_vain(c)}"


def _vain(c: Cell) -> str:
    return f", besides {said(c.axis, c.vain)} of tasks that no node there could hold" if c.vain else ""


def _demand(c: Cell) -> str:
    more = c.share - c.wants
    part = f"; of what is idle {said(c.axis, more)} more is its part, and what others leave of theirs"
    return f"It {_amounts(c)}. It gets all of it{part if more > c.little else ''}."


def _idle(c: Cell) -> str:
    if c.share <= c.little:
        return f"It wants nothing in {c.place}, and nothing is idle there for it."
    part = f"{said(c.axis, c.share)} of what is idle there is its part, should work come"
    return f"It wants nothing in {c.place} now; {part}."


def _in_vain(c: Cell) -> str:
    return f"No node in {c.place} could hold what waits for it: tasks of {said(c.axis, c.vain)}. The jobs say why."


def _maximum(c: Cell) -> str:
    if c.limit:
        whose = f"The maximum of {c.limit}, {said(c.axis, c.maximum)} in the whole federation, is given out"
        return f"It {_amounts(c)}. {whose}: {said(c.axis, c.share)} of it here."
    return f"It {_amounts(c)}. Its part of the maximum that {c.place} may use is {said(c.axis, c.ceiling)}."


def _guarantee(c: Cell) -> str:
    met = f"its guarantee of {said(c.axis, c.guaranteed)} is met in the whole federation"
    rest = "and nothing is left beyond guarantees"
    return f"It {_amounts(c)}. {c.place} is full: {met}, {said(c.axis, c.share)} of it here, {rest}."


def _capacity(c: Cell) -> str:
    fits = f"of its guarantee of {said(c.axis, c.guaranteed)} only {said(c.axis, c.share)} fits here"
    return f"It {_amounts(c)}. {c.place} is full with what queues are guaranteed: {fits}."


def _weight(c: Cell) -> str:
    sure = f"{said(c.axis, c.guaranteed_part)} is guaranteed" if c.guaranteed_part else "Nothing here is guaranteed"
    weight = f"its weight, {c.weight:g} of {c.siblings:g} among its siblings"
    more = f"{said(c.axis, max(0, c.share - c.guaranteed_part))} more comes by {weight}"
    place = f"{c.place} is full" if c.full else "What is left goes by the tree"
    return f"It {_amounts(c)}. {place}. {sure}; {more}."


def _sized(c: Cell) -> str:
    return f"{said(c.axis, c.sized)} of its guarantee of {said(c.axis, c.guaranteed)}"


def _size(c: Cell) -> str:
    part = 100 * c.capacity / c.all_capacity if c.all_capacity else 0
    return f"Shares go by size here: {c.place} has {part:.3g} % of all, so {_sized(c)}."


def _none(c: Cell) -> str:
    return f"Nothing was assigned for {c.place} yet; until then its size counts: {_sized(c)}."


_WORDS = {
    "demand": _demand, "idle": _idle, "vain": _in_vain, "maximum": _maximum, "guarantee": _guarantee,
    "capacity": _capacity, "weight": _weight, "size": _size, "none": _none,
}  # fmt: skip
