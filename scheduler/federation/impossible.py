"""What of a job no node of any sub-cluster could ever hold, and which of its names nobody has.

Problem: a job that names a node that is not there, or wants more than any node
has, is accepted and waits for ever. Say so at once, with the amounts to ask for
and the names that may have been meant (the nearest by ``difflib``: Ratcliff and Obershelp, 1988).

It goes by ``NodeKinds``, nodes as if they were empty; so what is said holds
until nodes come, and never because the cluster is full.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from scheduler.federation.feasible import GroupNeed, NodeKinds, amount_text
from wire import labels
from wire.resources import AXES, OF_AXIS

ALIKE = 0.7  # the ratio of ``difflib`` from which on a name may have been meant
Like = Callable[[str], Sequence[str]]  # names that may have been meant by this one


class Impossible(NamedTuple):
    """What cannot be. field: below the group, as the job file names it; "" is the group."""

    field: str
    message: str
    remedy: str


def meant(word: str, known: Iterable[str], otherwise: str) -> str:
    """A remedy: the names that are most like this one, else what to do instead."""
    close = difflib.get_close_matches(word, sorted(known), 3, ALIKE)
    return f"did you mean {' or '.join(close)}?" if close else otherwise


def impossible(need: GroupNeed, kinds: NodeKinds, nodes: Collection[str], like: Like | None = None) -> list[Impossible]:
    """What keeps the group from ever starting, and the names it gives that nobody has; nothing where it may start.

    nodes: those of the names it gives that are nodes, in service or not. like: nodes that may have been meant; None
    suggests nothing, which is faster.
    """
    found = list(_unknown_places(need, kinds, nodes, like))
    room = max(kinds.containers(need).values(), default=0)
    if room >= need.at_once:
        return found
    if not kinds.kinds:
        return [*found, Impossible("", "no node is in service in any sub-cluster", "it waits until one is")]
    if room:
        most = (
            f"a gang needs all {need.count:,} at once, and the nodes of one sub-cluster hold at most {room:,} of them"
        )
        return [*found, Impossible("count", most, f"use a count of {room:,} or less, smaller containers, or no gang")]
    largest = kinds.largest(need)
    if largest is not None:
        return [*found, *_too_large(need, largest)]
    return [*found, *(_unknown_labels(need, kinds, nodes, like) or ([] if found else [_nowhere(need)]))]


def _unknown_places(
    need: GroupNeed, kinds: NodeKinds, nodes: Collection[str], like: Like | None
) -> Iterator[Impossible]:
    for at, name in enumerate(need.nodes):
        if name not in nodes:
            yield _no_node(f"locality.nodes.{at}", name, like)
    racks = kinds.values("rack")
    for at, name in enumerate(need.racks):
        if racks is not None and name not in racks:
            remedy = "hydractl nodes lists them with their racks"
            remedy = meant(name, racks, remedy) if like else remedy
            yield Impossible(f"locality.racks.{at}", f"no node is in a rack {name!r}", remedy)


def _no_node(field: str, name: str, like: Like | None) -> Impossible:
    remedy = meant(name, like(name) if like else (), "hydractl nodes lists those there are")
    return Impossible(field, f"there is no node {name!r}", remedy)


def _too_large(need: GroupNeed, largest: Sequence[int]) -> list[Impossible]:
    found = []
    for axis, asked, most in zip(AXES, need.shape, largest, strict=True):
        if asked > most:
            word, field = OF_AXIS[axis].word, f"resources.{axis}"
            if not most:
                found.append(Impossible(field, f"no node that it may use has {word}", f"ask for no {word}"))
                continue
            has = f"the largest node that it may use has {amount_text(axis, most)}, and a container asks for"
            text = f"{has} {amount_text(axis, asked)}"
            found.append(Impossible(field, text, f"use {most} or less, and more containers"))
    whole = "no node that it may use is large enough in every resource at once"
    return found or [Impossible("resources", whole, "ask for less of one of them")]


def _unknown_labels(need: GroupNeed, kinds: NodeKinds, nodes: Collection[str], like: Like | None) -> list[Impossible]:
    """What the group's expression asks for that no node has."""
    found = []
    names = kinds.label_names()
    for term in _asked(labels.tree(need.node_labels)):
        if isinstance(term, labels.Has):
            if names is not None and term.name not in names:
                found.append(_no_label(term.name, names, like))
            continue
        if term.name == "node":
            found += [_no_node("node_labels", name, like) for name in sorted(term.values) if name not in nodes]
            continue
        values = kinds.values(term.name)
        if names is None or values is None or term.values & values:
            continue
        if term.name not in names:
            found.append(_no_label(term.name, names, like))
            continue
        wanted = " or ".join(map(repr, sorted(term.values)))
        there = f"use one of: {', '.join(sorted(values)[:10])}"
        remedy = meant(min(term.values), values, there) if like else there
        found.append(Impossible("node_labels", f"no node has {term.name} == {wanted}", remedy))
    return found


def _no_label(name: str, names: Collection[str], like: Like | None) -> Impossible:
    remedy = "hydractl nodes shows the labels of each"
    return Impossible("node_labels", f"no node has a label {name!r}", meant(name, names, remedy) if like else remedy)


def _asked(e: labels.Expression) -> Iterator[labels.Has | labels.Among]:
    """The terms of an expression that ask for something to be there."""
    match e:
        case labels.Has() | labels.Among():
            yield e
        case labels.Some(parts) | labels.Every(parts):
            for part in parts:
                yield from _asked(part)


def _nowhere(need: GroupNeed) -> Impossible:
    where = f" of partition {need.partition!r}" if need.partition else ""
    if need.node_labels:
        remedy = "hydractl nodes shows the labels of each"
        return Impossible("node_labels", f"no node{where} in service matches {need.node_labels!r}", remedy)
    if need.strict and (need.nodes or need.racks):
        return Impossible("locality", f"no node{where} in service is among those it names", "name others, or relax it")
    place = f"in partition {need.partition!r}" if need.partition else "outside of all partitions"
    return Impossible("partition", f"no node in service is {place}", "name another partition")
