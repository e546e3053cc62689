"""How many sub-clusters and nodes the stack of this host has: as was asked, else as last time."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from controlplane.embedded import cluster
from controlplane.embedded.home import Home, HomeError, read_json, write_json
from controlplane.embedded.plan import StackShape, node_names

NAMES = ("east", "west", "north", "south")
MOST = 64
USUAL: dict[str, Any] = {"sub_clusters": NAMES[:2], "nodes": 2}


def wanted(home: Home, sub_clusters: int | None = None, nodes: int | None = None) -> StackShape:
    """None: as last time. ``HomeError`` for what cannot be."""
    last = _last(home)
    names = last["sub_clusters"] if sub_clusters is None else _names(sub_clusters)
    each = last["nodes"] if nodes is None else nodes
    if not 0 <= each <= MOST:
        raise HomeError(f"--nodes is {each}; use 0 to {MOST}")
    return StackShape(tuple(names), each)


def _last(home: Home) -> dict[str, Any]:
    """The usual one where a file that cannot be used says something else: it is no more than a preference."""
    with suppress(HomeError):
        found = read_json(home.shape)
        names, nodes = found.get("sub_clusters"), found.get("nodes")
        if isinstance(names, list) and names and all(isinstance(n, str) for n in names) and isinstance(nodes, int):
            return found
    return USUAL


def _names(count: int) -> list[str]:
    if not 1 <= count <= MOST:
        raise HomeError(f"--sub-clusters is {count}; use 1 to {MOST}")
    return [NAMES[i] if i < len(NAMES) else f"sub-{i + 1}" for i in range(count)]


def serving(running: StackShape) -> StackShape:
    """Without the sub-clusters that were decommissioned."""
    gone = cluster.decommissioned(running.sub_clusters)
    return replace(running, sub_clusters=tuple(name for name in running.sub_clusters if name not in gone))


def kept(home: Home, started: StackShape) -> StackShape:
    """What of a shape that was started is to serve, which is started next time too; what else there is stops."""
    left = serving(started)
    for name in node_names(started).keys() - node_names(left).keys():
        (home.held / name).touch()
    write_json(home.shape, {"sub_clusters": left.sub_clusters, "nodes": left.nodes} if left.sub_clusters else {})
    return left
