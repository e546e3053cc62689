"""Queues of YARN's CapacityScheduler and FairScheduler as the ``queues`` of a policy document.

Source: the schedulers' documentation, Apache Hadoop 3.2. What is taken over of
a queue:

- CapacityScheduler: ``capacity`` in percent (a share), as ``[memory=..,vcores=..]``
  (amounts) or as ``3w`` (a weight), ``maximum-capacity``, ``state``,
  ``ordering-policy`` fifo and fair, ``max-parallel-apps``,
  ``maximum-am-resource-percent``, ``disable_preemption``; ``user-limit-factor``
  up to 1, as larger ones let users borrow beyond the queue;
- FairScheduler: ``minResources``, ``maxResources``, ``weight``,
  ``schedulingPolicy`` (``schedulingMode`` in older files), ``maxRunningApps``,
  ``maxAMShare``, ``allowPreemptionFrom``.

Everything else, such as rights and time-outs, is left out. Names are written
in lower case, with ``-`` for what queue names of ours may not have.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from simulator.workloads.files import Unreadable
from wire.resources import OF_AXIS

Queues = dict[str, Any]
PREFIX = "yarn.scheduler.capacity."
ORDERINGS = {"fifo": "fifo", "fair": "fair", "drf": "fair"}
RESOURCES = {"memory": "memory_mib", "memory-mb": "memory_mib", "mb": "memory_mib", "vcores": "vcores_milli",
             "cpu": "vcores_milli", "gpu": "gpus", "yarn.io/gpu": "gpus"}  # fmt: skip
MOST_BYTES = 16 << 20
MOST_LEVELS = 16  # of a policy document
_NAMED = re.compile(r"([a-z./-]+)\s*=\s*([\d.]+)\s*(%?)")  # memory-mb=1024, vcores=50%
_COUNTED = re.compile(r"([\d.]+)\s*(%?)\s*([a-z./-]+)")  # 1024 mb, 1 vcores; 50% memory
_PLAIN = re.compile(r"[^a-z0-9_-]")


def queues(path: str | Path) -> Queues:
    """The queues of a configuration file of either scheduler."""
    place = Path(path)
    top = _parsed(place)
    if top.tag == "configuration":
        found = _capacity(_Given(place, _properties(top)), "root", 1)
    elif top.tag == "allocations":
        found = _fair(place, top, 1)
        if set(found) == {"root"}:
            found = found["root"].get("children", {})
    else:
        raise Unreadable(f"{place}: <{top.tag}> is neither <configuration> nor <allocations>; give a scheduler's file")
    if not found:
        raise Unreadable(f"{place}: there is no queue in it; give the file that defines the queues")
    return found


def plain_name(name: str) -> str:
    """A name as queues and groups of ours may have it."""
    return _PLAIN.sub("-", name.strip().lower())[:63] or "default"


# --- XML


def _parsed(path: Path) -> Element:
    """The document, without a type declaration: those can make small files into huge ones, or read others."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()

    def refuse(*_: object) -> NoReturn:
        line = parser.CurrentLineNumber
        raise Unreadable(f"{path}, line {line}: there is a DOCTYPE, which is not read; remove it and its entities")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Unreadable(f"{path}: the file is over {MOST_BYTES >> 20} MiB long; give a scheduler's file")
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise Unreadable(f"{path}, line {error.lineno}: this is no XML ({error}); repair it") from None
    return builder.close()


def _text(of: Element, tag: str) -> str:
    return (of.findtext(tag) or "").strip()


def _properties(top: Element) -> dict[str, str]:
    return {_text(p, "name"): _text(p, "value") for p in top.iter("property")}


class _Given:
    """What a file says of each queue, with errors that name the place."""

    def __init__(self, path: Path, values: dict[str, str]) -> None:
        self.path = path
        self.values = values

    def get(self, queue: str, name: str) -> str:
        return self.values.get(f"{PREFIX}{queue}.{name}", "")

    def wrong(self, queue: str, name: str, what: str, remedy: str) -> Unreadable:
        return Unreadable(f"{self.path}, {PREFIX}{queue}.{name}: {what}; {remedy}")


def _kids(found: Queues, name: str, queue: Queues, wrong: Callable[[str, str], Unreadable]) -> None:
    """Add a queue under its plain name; two must not become one."""
    plain = plain_name(name)
    if plain in found:
        raise wrong(f"the queue {plain!r} is there twice", "rename one")
    found[plain] = queue


def _number(text: str, wrong: Callable[[str, str], Unreadable]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1 << 50:
        raise wrong(f"{text[:40]!r} is no number from 0 on", "give a number")
    return value


def _amount(resource: str, value: float, percent: bool) -> float | int | str:
    """As a policy document writes it: a share from 0 to 1, or whole units."""
    if percent:
        return min(value, 100.0) / 100
    units = round(value * (1000 if resource == "vcores_milli" else 1))
    return OF_AXIS[resource].single if units == 1 else units


def _amounts(text: str, wrong: Callable[[str, str], Unreadable]) -> Queues | float:
    """``[memory=1024,vcores=1]``, ``memory-mb=1024, vcores=1``, ``1024 mb, 1 vcores``, ``50% memory`` or ``50%``."""
    remedy = "write 1024 mb, 1 vcores or memory-mb=1024, vcores=1 or 50%"
    text = text.strip().strip("[]").lower()
    if whole := re.fullmatch(r"([\d.]+)\s*%", text):
        return min(_number(whole[1], wrong), 100.0) / 100
    found: Queues = {}
    for part in text.split(","):
        if named := _NAMED.fullmatch(part.strip()):
            resource, value, percent = named.groups()
        elif counted := _COUNTED.fullmatch(part.strip()):
            value, percent, resource = counted.groups()
        else:
            raise wrong(f"{part.strip()[:40]!r} is no amount", remedy)
        if resource not in RESOURCES:
            raise wrong(f"the resource {resource[:40]!r} is unknown", f"use one of: {', '.join(sorted(RESOURCES))}")
        axis = RESOURCES[resource]
        found[axis] = _amount(axis, _number(value, wrong), bool(percent))
    return found


# --- CapacityScheduler


def _capacity(given: _Given, path: str, level: int) -> Queues:
    """The queues below ``path``."""
    if level > MOST_LEVELS:
        raise given.wrong(path, "queues", f"queues lie over {MOST_LEVELS} levels deep", "use fewer levels")
    found: Queues = {}
    for name in (n.strip() for n in given.get(path, "queues").split(",")):
        if name:
            queue = _capacity_queue(given, f"{path}.{name}")
            if children := _capacity(given, f"{path}.{name}", level + 1):
                queue["children"] = children
            _kids(found, name, queue, lambda what, remedy: given.wrong(path, "queues", what, remedy))
    return found


def _capacity_queue(given: _Given, path: str) -> Queues:
    def wrong_in(name: str) -> Callable[[str, str], Unreadable]:
        return lambda what, remedy: given.wrong(path, name, what, remedy)

    def number(name: str) -> float | None:
        text = given.get(path, name)
        return _number(text, wrong_in(name)) if text and not text.startswith("-") else None  # -1: no limit

    queue: Queues = {}
    capacity, most = given.get(path, "capacity"), given.get(path, "maximum-capacity")
    if capacity.endswith("w"):
        queue["weight"] = _weight(_number(capacity[:-1], wrong_in("capacity")), wrong_in("capacity"))
    elif capacity:
        queue["guaranteed"] = _capacity_limit(capacity, wrong_in("capacity"))
    if most and not most.startswith("-"):
        limit = _capacity_limit(most, wrong_in("maximum-capacity"))
        if limit != 1.0:
            queue["maximum"] = limit
    if (ordering := given.get(path, "ordering-policy")) in ORDERINGS:
        queue["ordering"] = ORDERINGS[ordering]
    if given.get(path, "state").upper() == "STOPPED":
        queue["state"] = "stopped"
    if given.get(path, "disable_preemption").lower() == "true":
        queue["preemptable"] = False
    if (jobs := number("max-parallel-apps")) is not None:
        queue["max_running_jobs"] = min(round(jobs), 1_000_000)
    if (share := number("maximum-am-resource-percent")) is not None:
        queue["max_am_share"] = min(share, 1.0)
    if (factor := number("user-limit-factor")) and factor <= 1:
        queue["user_maximum"] = factor
    return queue


def _capacity_limit(text: str, wrong: Callable[[str, str], Unreadable]) -> Queues | float:
    return _amounts(text, wrong) if text.startswith("[") else min(_number(text, wrong), 100.0) / 100


def _weight(value: float, wrong: Callable[[str, str], Unreadable]) -> float:
    if not 0 < value <= 1000:
        raise wrong(f"the weight {value:g} cannot be kept", "give one above 0, up to 1000")
    return value


# --- FairScheduler


def _fair(path: Path, above: Element, level: int) -> Queues:
    """The queues below an element; older files call them pools."""
    found: Queues = {}
    for element in above:
        if element.tag not in ("queue", "pool"):
            continue
        name = element.get("name", "").strip()

        def wrong(what: str, remedy: str, name: str = name) -> Unreadable:
            return Unreadable(f"{path}, queue {name!r}: {what}; {remedy}")

        if not name or level > MOST_LEVELS:
            raise wrong("it has no name, or lies too deep", f"name it, and use at most {MOST_LEVELS} levels")
        queue = _fair_queue(element, wrong)
        if children := _fair(path, element, level + 1):
            queue["children"] = children
        _kids(found, name, queue, wrong)
    return found


def _fair_queue(element: Element, wrong: Callable[[str, str], Unreadable]) -> Queues:
    queue: Queues = {}
    for tag, field in (("minResources", "guaranteed"), ("maxResources", "maximum")):
        if text := _text(element, tag):
            queue[field] = _amounts(text, wrong)
    if text := _text(element, "weight"):
        queue["weight"] = _weight(_number(text, wrong), wrong)
    ordering = (_text(element, "schedulingPolicy") or _text(element, "schedulingMode")).lower()
    if ordering in ORDERINGS:
        queue["ordering"] = ORDERINGS[ordering]
    if text := _text(element, "maxRunningApps"):
        queue["max_running_jobs"] = min(round(_number(text, wrong)), 1_000_000)
    text = _text(element, "maxAMShare")
    if text and not text.startswith("-"):  # -1: no limit
        queue["max_am_share"] = min(_number(text, wrong), 1.0)
    if _text(element, "allowPreemptionFrom").lower() == "false":
        queue["preemptable"] = False
    return queue
