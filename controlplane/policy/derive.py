"""A document with temporary overrides applied to it. Pure.

A relative change is of what the document says, never of another override.
Where a raised guarantee leaves too little for its siblings, theirs shrink in
proportion, as far as they must; guarantees that are overridden themselves do not.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

from contract.policies import OverrideField
from contract.policy.document import QueuePolicy
from contract.policy.rules import walk
from contract.problems import FieldError
from controlplane.policy import diffwords
from controlplane.policy.amounts import NormalLimit, normal, written
from controlplane.policy.diff import raw_queue
from controlplane.policy.documents import parse
from controlplane.policy.rows import flattened
from controlplane.statestore.capacities import ALL, DEFAULT, NOTHING, R
from controlplane.statestore.errors import Invalid
from wire.resources import AXES

Json = dict[str, Any]
LIMITS = {"guaranteed": NOTHING, "maximum": ALL}
FIELDS = get_args(OverrideField)
COUNTS = tuple(field for field in FIELDS if field.startswith("max_"))
PLACES = 6  # digits of a shrunk share


@dataclass(frozen=True, slots=True)
class Override:
    """One field of one queue. ``partition``: of a limit. ``change``: ``{"to": value}`` or ``{"percent": 20}``."""

    queue: str
    field: str
    partition: str
    change: Json
    number: int = 0

    @property
    def label(self) -> str:
        """``root.ads guaranteed``, and of which partition."""
        return f"{self.queue} {self.field}" + (f" of partition {self.partition}" if self.partition else "")

    @property
    def text(self) -> str:
        """``root.ads guaranteed +20 %`` or ``root.ads guaranteed -> 60 %``."""
        if "percent" in self.change:
            return f"{self.label} {self.change['percent']:+g} %"
        return f"{self.label} -> {diffwords.chosen(self.field, self.change['to'])}"


def derive(document: Json, overrides: Sequence[Override]) -> Json:
    """The document with all of them applied; the given one is left as it is.

    ``Invalid`` names the override that makes no sense in it. The result has
    yet to be validated as a whole.
    """
    parsed, made = parse(document), copy.deepcopy(document)
    rows = {row.path: row for row in flattened(parsed.queues)}
    for o in overrides:
        if o.queue not in rows or o.queue == "root":
            close = get_close_matches(o.queue, rows, 1)
            remedy = f"did you mean {close[0]}?" if close else "give the path of one, such as root.prod"
            raise _wrong("queue", f"there is no queue {o.queue} in the policy", remedy)
        if o.partition and o.partition not in parsed.partitions:
            raise _wrong("partition", f"there is no partition {o.partition} in the policy", "leave it out, or name one")
        if o.field in LIMITS:
            limits = rows[o.queue].capacities.get(o.partition) or LIMITS
            value: Any = _limit(o, limits[o.field])
        else:
            value = _number(o, getattr(rows[o.queue], o.field))
        _put(made, o, value)
    _make_room(made, overrides)
    return made


def _wrong(field: str, message: str, remedy: str) -> Invalid:
    return Invalid(message, [FieldError(field, message, remedy)])


def _put(document: Json, o: Override, value: Any) -> None:
    holder = raw_queue(document, o.queue)
    if o.partition:
        holder = holder.setdefault("partitions", {}).setdefault(o.partition, {})
    holder[o.field] = value


def _limit(o: Override, base: NormalLimit) -> Any:
    if "to" in o.change:
        return o.change["to"]
    if not any(base["share"]) and not any(base["units"]):
        raise _wrong("change", f"{o.label} is nothing, and a percentage of it too", "give the value it is to have")
    factor = 1 + o.change["percent"] / 100
    share = base["share"]
    bounded = any(base["units"]) or any(0 < part < 1 for part in share)  # then what is all there is is no limit
    over = [k for k in range(R) if share[k] * factor > 1 and share[k] < 1]
    if over or (factor > 1 and not bounded):
        at = max(over or range(R), key=share.__getitem__)
        text = f"{o.label} would be {100 * share[at] * factor:g} % of the parent's {AXES[at]}"
        raise _wrong("change", text, f"use at most {100 * (1 / share[at] - 1):+g} %")
    shares = [part if bounded and part == 1 else round(part * factor, 12) for part in share]
    return written({"share": shares, "units": [int(units * factor) for units in base["units"]]})


def _number(o: Override, base: Any) -> Any:
    if "to" in o.change:
        to = o.change["to"]
        return int(to) if o.field in COUNTS and isinstance(to, float) and to.is_integer() else to
    if base is None:
        raise _wrong("change", f"{o.label} has no value to change in proportion", "give the value it is to have")
    value = base * (1 + o.change["percent"] / 100)
    if o.field == "user_maximum" and value > 1:
        raise _wrong("change", f"{o.label} would be {100 * value:g} %", "let it come to 100 % at most")
    return int(value) if o.field in COUNTS else round(value, 12)


# --- siblings


def _make_room(document: Json, overrides: Iterable[Override]) -> None:
    """Shrink the guarantees of siblings of raised ones where together they would exceed their parent's."""
    fixed: dict[tuple[str, str], set[str]] = defaultdict(set)
    for o in overrides:
        if o.field == "guaranteed":
            up, _, name = o.queue.rpartition(".")
            fixed[up, o.partition].add(name)
    if not fixed:
        return
    parsed = parse(document)
    queues = {path: queue for _, path, queue in walk(parsed.queues)}
    for (up, partition), names in fixed.items():
        children = queues[up].children if up in queues else parsed.queues
        above = _stored(queues[up], partition) if up in queues else None
        for name, limit in _shrunk({n: _stored(q, partition) for n, q in children.items()}, names, above, up).items():
            _put(document, Override(f"{up}.{name}", "guaranteed", partition, {}), written(limit))


def _stored(queue: QueuePolicy, partition: str) -> NormalLimit:
    named = queue.partitions.get(partition)
    given = queue.guaranteed if partition == DEFAULT else named.guaranteed if named else None
    return normal(given, NOTHING) if given else NOTHING


def _shrunk(
    children: dict[str, NormalLimit], fixed: set[str], above: NormalLimit | None, up: str
) -> dict[str, NormalLimit]:
    """New guarantees of the children that are not fixed and have to give way; name -> limit."""
    found: dict[str, NormalLimit] = {}
    for axis in range(R):
        share = {name: limit["share"][axis] for name, limit in children.items()}
        units = {name: limit["units"][axis] for name, limit in children.items()}
        most = above["units"][axis] if above else 0
        factor = _factor(share, units, fixed, most)
        if factor < 0:
            names = ", ".join(f"{up}.{name}" for name in sorted(fixed)[:5])
            text = f"more {AXES[axis]} than {up} has would be guaranteed to {names} alone"
            raise _wrong("change", text, "raise it by less, or cancel an override beside it")
        if factor >= 1:
            continue
        for name in children.keys() - fixed:
            if share[name] or units[name]:
                limit = found.setdefault(name, {k: list(v) for k, v in children[name].items()})
                limit["share"][axis] = int(share[name] * factor * 10**PLACES + 1e-3) / 10**PLACES
                limit["units"][axis] = int(units[name] * factor)
    return found


def _factor(share: dict[str, float], units: dict[str, float], fixed: set[str], most: float) -> float:
    """By how much the others must shrink: 1 not at all, below 0 when the fixed ones alone are too much."""
    held = sum(share[n] for n in fixed)
    rest = sum(s for n, s in share.items() if n not in fixed)
    free = 1 - held
    if free < -1e-9:
        return -1.0
    factor = min(1.0, max(free, 0.0) / rest) if rest > free + 1e-9 else 1.0
    if most and any(units.values()):  # amounts have what the shares of an amount leave
        owed = sum(units[n] for n in fixed)
        others = sum(u for n, u in units.items() if n not in fixed)
        left = most * free - owed
        if left < -1e-6:
            return -1.0
        if others + most * rest > left + 1e-6:
            factor = min(factor, max(left, 0.0) / (others + most * rest))
    return factor
