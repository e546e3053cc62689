"""What changes between two policy documents: in words for people, and as values for programs.

Compared is what holds, not what is written: a limit as ``40%`` or ``0.4`` is
the same, defaults are written out, and what a queue inherits is resolved. A
change that queues below take over is told once, at the highest of them. Pure.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from contract.policy.components import OF_THE_WHOLE
from contract.policy.document import PolicyDocument, QueuePolicy
from contract.policy.rules import walk
from contract.policy.subclusters import effective_components, own_components
from controlplane.policy import diffwords
from controlplane.policy.amounts import written
from controlplane.policy.documents import parse
from controlplane.policy.rows import INHERITED, flattened
from controlplane.statestore.capacities import ALL, NOTHING

if TYPE_CHECKING:
    from controlplane.statestore.actions.policy import QueueRow

Json = dict[str, Any]
Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
_OWN = ("weight", "max_running_jobs")
_FLAGS = ("submit", "administer")
_LIMITS = {"guaranteed": NOTHING, "maximum": ALL}
# Fields of a queue that are no columns of its row; what one says holds for all below it.
_EXTRA = tuple(
    name
    for name in QueuePolicy.model_fields
    if name not in {*INHERITED, *_OWN, *_FLAGS, *_LIMITS, "stopped", "partitions", "children"}
)
_MEDIUM = {"ordering", "open_to_all", "preemptable", "leaf", "default_partition", *_EXTRA}


@dataclass(frozen=True, slots=True)
class Change:
    """One value that becomes another.

    ``path``: a queue (``root.prod``), ``partitions.gpu``, ``components.locality``,
    ``sub_clusters.east.components.locality`` or ``approval``. ``field``: of it;
    ``queue`` or ``partition`` where the whole of it comes (``before`` null) or
    goes (``after`` null). ``queues``: how many queues get the new value, itself
    among them. ``kept``: the highest ones below it that keep what they have,
    because they name it themselves now or did before; of a component, the
    sub-clusters that do.
    """

    path: str
    field: str
    before: Any
    after: Any
    text: str
    severity: Severity
    queues: int = 0
    kept: tuple[str, ...] = ()


def diff(before: Json, after: Json) -> list[Change]:
    """From one document to another; both must be right in shape. Queues by tree, then partitions, components, rest.

    Raises ``Invalid`` when one of them is not.
    """
    a, b = parse(before), parse(after)
    return [*_queues(before, a, after, b), *_partitions(a, b), *_components(a, b), *_parts(a, b)]


def staged(change: Change) -> bool:
    """Whether the first stage of a rollout begins with it; else it holds with the last one, everywhere at once."""
    of_components = change.path.startswith(("components.", "sub_clusters."))
    return of_components and change.path.rpartition(".")[2] not in OF_THE_WHOLE


def worst(changes: list[Change]) -> Severity | None:
    """The highest severity among them."""
    return min((c.severity for c in changes), key=SEVERITIES.index, default=None)


def brief(changes: list[Change], most: int) -> str:
    """The change that matters most, and how many there are beside it: at most ``most`` characters."""
    if not changes:
        return "nothing changes"
    first = min(changes, key=lambda c: SEVERITIES.index(c.severity)).text
    more = f" and {len(changes) - 1:,} more" if len(changes) > 1 else ""
    return (first if len(first + more) <= most else first[: most - len(more) - 1] + "…") + more


# --- queues


def _queues(before: Json, a: PolicyDocument, after: Json, b: PolicyDocument) -> Iterator[Change]:
    old = {row.path: row for row in flattened(a.queues)}
    new = {row.path: row for row in flattened(b.queues)}
    spread = _Spread(_held(a, old), _held(b, new))
    for path in sorted(old.keys() | new.keys(), key=lambda p: p.split(".")):
        if path not in old:
            if _parent(path) in old:
                yield _whole_queue(path, None, raw_queue(after, path), new)
        elif path not in new:
            if _parent(path) in new:
                yield _whole_queue(path, raw_queue(before, path), None, old)
        elif path != "root":
            yield from _limits(old[path], new[path])
            yield from _own(old[path], new[path])
            yield from spread.changes(path)


def raw_queue(document: Json, path: str) -> Json:
    """The queue of this path as the document writes it; ``KeyError`` without one."""
    node: Json = {"children": document["queues"]}
    for name in path.split(".")[1:]:
        node = (node.get("children") or {})[name]
    return node


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _whole_queue(path: str, before: Json | None, after: Json | None, rows: "dict[str, QueueRow]") -> Change:
    count = sum(p == path or p.startswith(path + ".") for p in rows)
    text = diffwords.whole_queue(path, after is not None, count)
    return Change(path, "queue", before, after, text, "low" if before is None else "high", count)


def _limits(old: "QueueRow", new: "QueueRow") -> Iterator[Change]:
    for partition in dict.fromkeys([*old.capacities, *new.capacities]):
        for side in _LIMITS:
            a = (old.capacities.get(partition) or _LIMITS)[side]
            b = (new.capacities.get(partition) or _LIMITS)[side]
            if a == b:
                continue
            lower = any(y < x for form in ("share", "units") for x, y in zip(a[form], b[form], strict=True))
            field = f"partitions.{partition}.{side}" if partition else side
            text = diffwords.limit(old.path, side, partition, a, b)
            yield Change(old.path, field, written(a), written(b), text, "medium" if lower else "low", 1)


def _own(old: "QueueRow", new: "QueueRow") -> Iterator[Change]:
    for name in (*_OWN, *_FLAGS, "leaf"):
        a, b = getattr(old, name), getattr(new, name)
        if name in _FLAGS:
            a, b = sorted(set(a)), sorted(set(b))
        if a != b:
            text = diffwords.queue_value(old.path, name, a, b)
            yield Change(old.path, name, a, b, text, _severity(name, a, b), 1)


def _held(document: PolicyDocument, rows: "dict[str, QueueRow]") -> dict[str, Json]:
    """What each queue has of the values that queues inherit; path -> name -> value."""
    found = {path: {name: getattr(row, name) for name in INHERITED} for path, row in rows.items()}
    found["root"] |= dict.fromkeys(_EXTRA)
    for _, path, queue in walk(document.queues):
        for name in _EXTRA:
            own = getattr(queue, name)
            found[path][name] = found[_parent(path)][name] if own is None else _json(own)
    return found


def _json(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


class _Spread:
    """Values that queues inherit: a change is told at the highest queue that has it. ``old``, ``new``: as ``_held``."""

    def __init__(self, old: dict[str, Json], new: dict[str, Json]) -> None:
        self.old, self.new = old, new
        self.below: dict[str, list[str]] = {}
        for path in old.keys() & new.keys():
            self.below.setdefault(_parent(path), []).append(path)

    def pair(self, path: str, name: str) -> tuple[Any, Any]:
        return self.old[path][name], self.new[path][name]

    def changes(self, path: str) -> Iterator[Change]:
        """What of the queue's inherited values changes here, rather than above it."""
        for name in (*INHERITED, *_EXTRA):
            before, after = self.pair(path, name)
            up = _parent(path)
            if before == after or (up != "root" and self.pair(up, name) == (before, after)):
                continue
            count, kept = self._reach(path, name)
            text = diffwords.queue_value(path, name, before, after) + diffwords.reach(count, kept)
            yield Change(path, name, before, after, text, _severity(name, before, after), count, tuple(sorted(kept)))

    def _reach(self, path: str, name: str) -> tuple[int, list[str]]:
        """(queues that change likewise, highest ones below them that keep the old value)."""
        pair, count, kept, todo = self.pair(path, name), 0, [], [path]
        while todo:
            at = todo.pop()
            found = self.pair(at, name)
            if found == pair:
                count += 1
                todo += self.below.get(at, ())
            elif found == (pair[0], pair[0]):
                kept.append(at)
        return count, kept


def _severity(name: str, before: Any, after: Any) -> Severity:
    if name == "state" and after == "stopped":
        return "high"
    if name in _MEDIUM:
        return "medium"
    if name in _FLAGS:
        return "medium" if set(before) - set(after) else "low"
    numbers = [x for x in (before, after) if x is not None]
    lowered = after is not None and (before is None or (len(numbers) == 2 and after < before))
    return "medium" if lowered and name not in ("state", "weight", "default_priority") else "low"


# --- the rest


def _partitions(a: PolicyDocument, b: PolicyDocument) -> Iterator[Change]:
    for name in sorted(a.partitions.keys() | b.partitions.keys()):
        before = a.partitions[name].model_dump() if name in a.partitions else None
        after = b.partitions[name].model_dump() if name in b.partitions else None
        path = f"partitions.{name}"
        if before is None or after is None:
            text = f"partition {name} {'added: ' + diffwords.value((after or {}).get('nodes')) if after else 'removed'}"
            yield Change(path, "partition", before, after, text, "low" if after else "high")
        else:
            yield from _values(path, f"partition {name}", before, after, "medium")


def _components(a: PolicyDocument, b: PolicyDocument) -> Iterator[Change]:
    """The cluster's, each with the sub-clusters that keep what they have; then what changes in single ones only."""
    before, after = (d.model_dump(mode="json", include={"components", "sub_clusters"}) for d in (a, b))
    single = {
        name: list(_choices(before, after, name)) for name in sorted(a.sub_clusters.keys() | b.sub_clusters.keys())
    }
    moved = {name: {_setting(c) for c in found} for name, found in single.items()}
    everywhere = set()
    for c in _choices(before, after):
        everywhere.add((_setting(c), json.dumps([c.before, c.after])))
        kept = tuple(name for name in single if _setting(c) not in moved[name])
        yield replace(c, text=c.text + diffwords.reach(1, kept), kept=kept)
    for found in single.values():
        yield from (c for c in found if (_setting(c), json.dumps([c.before, c.after])) not in everywhere)


def _choices(before: Json, after: Json, sub_cluster: str = "") -> Iterator[Change]:
    """What changes of the components that hold in a sub-cluster, or without one in those that name none."""
    one, two = (
        effective_components(d["components"], d["components"], own_components(d["sub_clusters"], sub_cluster))
        for d in (before, after)
    )
    path, label = (f"sub_clusters.{sub_cluster}.", f"{sub_cluster}: ") if sub_cluster else ("", "")
    for name in sorted(one):
        if one[name] != two[name]:
            yield from _values(f"{path}components.{name}", f"{label}{name}", one[name], two[name], "low")


def _setting(c: Change) -> tuple[str, str]:
    return c.path.rpartition(".")[2], c.field


def _parts(a: PolicyDocument, b: PolicyDocument) -> Iterator[Change]:
    """Whatever else stands beside them."""
    before, after = a.model_dump(mode="json", exclude=_APART), b.model_dump(mode="json", exclude=_APART)
    for name in sorted(before.keys() | after.keys()):
        yield from _values(name, name, before.get(name) or {}, after.get(name) or {}, "medium")


_APART = {"queues", "partitions", "components", "sub_clusters"}


def _values(path: str, label: str, before: Json, after: Json, severity: Severity, within: str = "") -> Iterator[Change]:
    """Every value in a mapping that differs, mappings in it looked through."""
    for name in dict.fromkeys([*before, *after]):
        a, b = before.get(name), after.get(name)
        if a == b:
            continue
        field = f"{within}{name}"
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _values(path, label, a, b, severity, f"{field}.")
            continue
        switched_off = (path, field, b) == ("approval", "required", False)
        level: Severity = "high" if switched_off else "medium" if field == "policy" else severity
        yield Change(path, field, a, b, diffwords.part_value(label, field, a, b), level)
