"""The sentences of a policy diff: ``root.prod guaranteed 40 % -> 55 %``."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from contract.policy.limits import Limit, LimitByResource
from wire.resources import AXES, OF_AXIS

CUT = 80  # characters of one value
NAMED = 3  # queues named in one sentence
_NONE = {"weight": "as guaranteed", "guaranteed": "nothing"}
_NOUGHT = {"0 %": "nothing"}
_SHARES = {"user_maximum", "max_am_share"}
_LIMITS = {"guaranteed", "maximum"}
_LIMIT = TypeAdapter[LimitByResource](Limit)


def whole_queue(path: str, added: bool, count: int) -> str:
    with_it = f" with {count - 1} below it" if count > 1 else ""
    return f"queue {path} {'added' if added else 'removed'}{with_it}"


def limit(path: str, side: str, partition: str, before: Any, after: Any) -> str:
    """``before`` and ``after`` in the normal form of ``statestore.capacities``; only resources that change are told."""
    what = f"{path} {side}" + (f" of partition {partition}" if partition else "")
    pairs = [(before["share"][i], before["units"][i], after["share"][i], after["units"][i]) for i in range(len(AXES))]
    if len(set(pairs)) == 1 and not pairs[0][1] and not pairs[0][3]:
        old, new = _two(pairs[0][0], pairs[0][2])
        return f"{what} {_NOUGHT.get(old, old)} -> {_NOUGHT.get(new, new)}"
    parts = []
    for axis, (s, u, t, v) in zip(AXES, pairs, strict=True):
        if (s, u) != (t, v):
            old, new = _two(s, t)
            parts.append(f"{OF_AXIS[axis].word} {units(axis, u) if u else old} -> {units(axis, v) if v else new}")
    return f"{what}: {', '.join(parts)}"


def units(axis: str, amount: float) -> str:
    """``64 GiB``, ``1.5 cores``, ``4``."""
    resource = OF_AXIS[axis]
    if resource.in_mib:
        for unit, size in (("TiB", 1 << 20), ("GiB", 1 << 10)):
            if amount % size == 0:
                return f"{int(amount // size)} {unit}"
        return f"{int(amount)} MiB"
    return f"{amount / resource.large:.12g}"


def chosen(name: str, to: Any) -> str:
    """What a field of a queue is to be, however the policy writes it: ``60 %``, ``memory 2 GiB, cores 2``."""
    if to is None:
        return _NONE.get(name, "no limit")
    if name in _LIMITS:
        return _chosen_limit(to) or _NONE.get(name, "no limit")
    return _percent(to) if name in _SHARES else value(to)


def _chosen_limit(to: Any) -> str:
    try:
        found = _LIMIT.validate_python(to)
    except ValidationError:  # as an older release took it
        return value(to)
    parts = {axis: amount for axis in AXES if (amount := getattr(found, axis)) is not None}
    said = {axis: units(axis, amount) if amount else _percent(share) for axis, (share, amount) in parts.items()}
    if not isinstance(to, dict):  # one share of everything
        return _NOUGHT.get(said[AXES[0]], said[AXES[0]])
    return ", ".join(f"{OF_AXIS[axis].word} {text}" for axis, text in said.items())


def _percent(share: float) -> str:
    return _two(share, share)[0]


def _two(before: float, after: float) -> tuple[str, str]:
    """Two shares as percentages, with as many digits as tell them apart."""
    for digits in (6, 12, 17):
        texts = [f"{100 * share:.{digits}g} %" for share in (before, after)]
        if before == after or texts[0] != texts[1]:
            break
    return texts[0], texts[1]


def queue_value(path: str, name: str, before: Any, after: Any) -> str:
    if name == "leaf":
        now = "takes jobs itself again" if after else "takes no jobs itself any more: there are queues below it"
        return f"{path} {now}"
    if name in ("submit", "administer"):
        added = [f"+{who}" for who in after if who not in before]
        gone = [f"-{who}" for who in before if who not in after]
        return f"{path} {name} {_several([*added, *gone], 2 * NAMED)}"
    if name in _SHARES:
        old, new = _two(before, after)
    elif name == "default_partition":
        old, new = before or '""', after or '""'
    else:
        none = _NONE.get(name, "no limit" if name.startswith("max_") else "none")
        old, new = (none if v is None else value(v) for v in (before, after))
        if old == new:
            old, new = repr(before), repr(after)
    return f"{path} {name} {old} -> {new}"


def reach(count: int, kept: Sequence[str]) -> str:
    """Where else an inherited value changes, and where it does not."""
    also = f", and {count - 1} below it" if count > 1 else ""
    return also + (f"; not {_several(sorted(kept), NAMED)}" if kept else "")


def part_value(label: str, field: str, before: Any, after: Any) -> str:
    shown = field.removeprefix("parameters.")
    old, new = value(before), value(after)
    if old == new:
        old, new = (json.dumps(v)[: 4 * CUT] for v in (before, after))
    return f"{label} {shown} {old} -> {new}"


def value(found: Any) -> str:
    """A value as people read it, at most ``CUT`` characters."""
    if isinstance(found, bool):
        return "yes" if found else "no"
    if found is None:
        return "none"
    if isinstance(found, float):
        return f"{found:g}"
    if isinstance(found, list):
        text = ", ".join(map(value, found)) or "none"
    elif isinstance(found, dict):
        text = json.dumps(found)
    else:
        text = str(found)
    return text if len(text) <= CUT else text[: CUT - 3] + "..."


def _several(names: Sequence[str], most: int) -> str:
    shown = [str(name) for name in names[:most]]
    left = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + left
