"""What of a job no node of any sub-cluster could ever hold, and which of its names nobody has.

Problem: a job that names a node that is not there, or wants more than any node
has, is accepted and waits for ever. Say so at once, with the amounts to ask for
and the names that may have been meant (the nearest by ``difflib``: Ratcliff and Metzener, 1988).

It goes by ``NodeKinds``, nodes as if they were empty; so what is said holds
until nodes come, and never because the cluster is full.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from scheduler.explain.amounts import amount_text
from scheduler.federation.feasible import GroupNeed, NodeKinds
from wire import labels
from wire.resources import AXES, OF_AXIS

ALIKE = 0.7  # the ratio of ``difflib`` from which on a name may have been meant
COMPARED_MAX = 500  # names that one that nobody has is compared with, a few microseconds each
LISTED_MAX = 10  # values of a label that a remedy lists
SUGGESTED_MAX = 10  # names of a job for which others are looked for
_LABELS = "hydractl nodes shows the labels of each"


class Impossible(NamedTuple):
    """What cannot be. field: below the group, as the job file names it; "" is the group."""

    field: str
    message: str
    remedy: str


def meant(word: str, known: Iterable[str], otherwise: str) -> str:
    """A remedy: those of the names that are most like this one, else what to do instead."""
    beginning = word[: max(1, len(word) // 2)]
    near = sorted((not name.startswith(beginning), name) for name in known if abs(len(name) - len(word)) <= 2)
    close = difflib.get_close_matches(word, [name for _, name in near[:COMPARED_MAX]], 3, ALIKE)
    return f"did you mean {' or '.join(close)}?" if close else otherwise


class Suggestions:
    """Remedies for the first names of a job that nobody has. Looking for more would take longer than all else.

    node_names: names of nodes that may have been meant by one.
    """

    def __init__(self, node_names: Callable[[str], Collection[str]], most: int = SUGGESTED_MAX):
        self._node_names, self._left = node_names, most

    def remedy(self, word: str, known: Collection[str] | None, otherwise: str) -> str:
        """As ``meant``; known None: nodes' names."""
        if not self._left:
            return otherwise
        self._left -= 1
        return meant(word, self._node_names(word) if known is None else known, otherwise)


def impossible(need: GroupNeed, kinds: NodeKinds, nodes: Collection[str], suggestions: Suggestions) -> list[Impossible]:
    """What keeps the group from ever starting, and the names it gives that nobody has; nothing where it may start.

    nodes: those of the names it gives that are nodes, in service or not.
    """
    found = list(_unknown_places(need, kinds, nodes, suggestions))
    room = max(kinds.containers(need).values(), default=0)
    if room >= need.at_once:
        return found
    if not kinds.kinds:
        return [*found, Impossible("", "no node is in service in any sub-cluster", "it waits until one is")]
    if room:
        most = f"a gang needs all {need.count:,} at once, and the nodes of one sub-cluster hold at most {room:,}"
        return [*found, Impossible("count", most, f"use a count of {room} or less, smaller containers, or no gang")]
    largest = kinds.largest(need)
    selects = need.node_labels or need.strict
    if not found and largest is None and selects and (elsewhere := kinds.elsewhere(need)):
        return [_in_other_partitions(need, elsewhere)]
    if largest is not None:
        return [*found, *_too_large(need, largest)]
    found += _unknown_labels(need, kinds, nodes, suggestions) or ([] if found else [_nowhere(need)])
    return [*found, *_too_large_anywhere(need, kinds)]


def nobody_has(need: GroupNeed, kinds: NodeKinds, nodes: Collection[str], suggestions: Suggestions) -> list[Impossible]:
    """The names without which it cannot start, and which nobody has. Arguments as of ``impossible``."""
    places = list(_unknown_places(need, kinds, nodes, suggestions)) if need.strict else []
    matter = need.node_labels and kinds.largest(need) is None  # else they can be met: it waits for another reason
    return places + (_unknown_labels(need, kinds, nodes, suggestions) if matter else [])


def _unknown_places(
    need: GroupNeed, kinds: NodeKinds, nodes: Collection[str], suggestions: Suggestions
) -> Iterator[Impossible]:
    for at, name in enumerate(need.nodes):
        if name not in nodes:
            yield _no_node(f"locality.nodes.{at}", name, suggestions)
    known = kinds.values() if need.racks else None
    for at, name in enumerate(need.racks):
        if known is not None and name not in known["rack"]:
            remedy = suggestions.remedy(name, known["rack"], "hydractl nodes lists them with their racks")
            yield Impossible(f"locality.racks.{at}", f"no node is in a rack {name!r}", remedy)


def _no_node(field: str, name: str, suggestions: Suggestions) -> Impossible:
    remedy = suggestions.remedy(name, None, "hydractl nodes lists those there are")
    return Impossible(field, f"there is no node {name!r}", remedy)


def _too_large(need: GroupNeed, largest: Sequence[int]) -> list[Impossible]:
    found = []
    for axis, asked, most in zip(AXES, need.shape, largest, strict=True):
        field = f"resources.{axis}"
        if asked > most > 0:
            has = f"the largest node that it may use has {amount_text(axis, most)}"
            text = f"{has}, and a container asks for {amount_text(axis, asked)}"
            found.append(Impossible(field, text, f"use {most} or less, and more containers"))
        elif asked > most:
            word = OF_AXIS[axis].word
            found.append(Impossible(field, f"no node that it may use has {word}", f"ask for no {word}"))
    whole = "no node that it may use is large enough in every resource at once"
    return found or [Impossible("resources", whole, "ask for less of one of them")]


def _too_large_anywhere(need: GroupNeed, kinds: NodeKinds) -> list[Impossible]:
    """What would still keep a group from starting that named no nodes, racks or labels."""
    anywhere = replace(need, node_labels="", strict=False, nodes=(), racks=())
    largest = kinds.largest(anywhere)
    fits = largest is None or max(kinds.containers(anywhere).values(), default=0)
    return [] if fits else _too_large(anywhere, largest)


def _unknown_labels(
    need: GroupNeed, kinds: NodeKinds, nodes: Collection[str], suggestions: Suggestions
) -> list[Impossible]:
    """What the group's expression asks for that no node has."""
    found: list[Impossible] = []
    known = kinds.values()
    for term in _asked(labels.tree(need.node_labels)):
        if isinstance(term, labels.Among) and term.name == "node":
            found += [_no_node("node_labels", name, suggestions) for name in sorted(term.values) if name not in nodes]
        elif known is None or term.name == "node":
            continue
        elif term.name not in known:
            remedy = suggestions.remedy(term.name, known.keys(), _LABELS)
            found.append(Impossible("node_labels", f"no node has a label {term.name!r}", remedy))
        elif isinstance(term, labels.Among) and not term.values & known[term.name]:
            there = known[term.name]
            otherwise = f"use one of: {', '.join(sorted(there))}" if len(there) <= LISTED_MAX else _LABELS
            remedy = suggestions.remedy(min(term.values), there, otherwise)
            wanted = " or ".join(map(repr, sorted(term.values)))
            found.append(Impossible("node_labels", f"no node has {term.name} == {wanted}", remedy))
    return found


def _asked(e: labels.Expression) -> Iterator[labels.Has | labels.Among]:
    """The terms of an expression that ask for something to be there."""
    match e:
        case labels.Has() | labels.Among():
            yield e
        case labels.Some(parts) | labels.Every(parts):
            for part in parts:
                yield from _asked(part)


def _in_other_partitions(need: GroupNeed, nodes: Mapping[str, int]) -> Impossible:
    """nodes: how many match, by the partition that they are in."""
    most = sorted(nodes, key=lambda name: (-nodes[name], name))
    where = " or ".join(f"in partition {name!r}" if name else "in no partition" for name in most[:LISTED_MAX])
    own = f"in partition {need.partition!r}" if need.partition else "outside of exclusive partitions"
    n = sum(nodes.values())
    are = f"{n:,} nodes that match are" if n > 1 else "the node that matches is"
    remedy = f"give the group partition: {most[0]}" if most[0] else "leave the group's partition out"
    return Impossible("partition", f"it looks for nodes {own}, and {are} {where}", remedy)


def _nowhere(need: GroupNeed) -> Impossible:
    where = f" of partition {need.partition!r}" if need.partition else ""
    if need.node_labels:
        return Impossible("node_labels", f"no node{where} in service matches {need.node_labels!r}", _LABELS)
    if need.strict and (need.nodes or need.racks):
        return Impossible("locality", f"no node{where} in service is among those it names", "name others, or relax it")
    place = f"in partition {need.partition!r}" if need.partition else "outside of all partitions"
    return Impossible("partition", f"no node in service is {place}", "name another partition")
