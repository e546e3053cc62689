"""How many sub-clusters and nodes the stack of this host has: as was asked, else as last time."""

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
    last = USUAL | read_json(home.shape)
    names = last["sub_clusters"] if sub_clusters is None else _names(sub_clusters)
    each = last["nodes"] if nodes is None else nodes
    if not 0 <= each <= MOST:
        raise HomeError(f"--nodes is {each}; use 0 to {MOST}")
    return StackShape(tuple(names), each)


def _names(count: int) -> list[str]:
    if not 1 <= count <= MOST:
        raise HomeError(f"--sub-clusters is {count}; use 1 to {MOST}")
    return [NAMES[i] if i < len(NAMES) else f"sub-{i + 1}" for i in range(count)]


def kept(home: Home, started: StackShape) -> StackShape:
    """What of a shape that runs is to serve, which is started next time too.

    Sub-clusters that were decommissioned stay so: what was started as their nodes is stopped.
    """
    gone = cluster.decommissioned(started.sub_clusters)
    for name in node_names(replace(started, sub_clusters=tuple(gone))):
        (home.held / name).touch()
    left = replace(started, sub_clusters=tuple(name for name in started.sub_clusters if name not in gone))
    write_json(home.shape, {"sub_clusters": left.sub_clusters, "nodes": left.nodes} if left.sub_clusters else {})
    return left
