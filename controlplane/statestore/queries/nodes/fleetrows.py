"""A sub-cluster's nodes as the map of the fleet shows them: what they are, and columns of what moves.

What nodes are (names, racks, labels, capacity) is JSON text that is made once
and again when a row changes. What moves is small integers, one array a field.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from django.db import connection

from controlplane.statestore.models import Node, SubCluster
from controlplane.statestore.nodeloads import NodeLoads
from controlplane.statestore.resourcecolumns import per_axis
from wire.resources import AXES, CORES, GPUS, MEMORY
from wire.states import NodeState

from .maintenance import Window
from .veil import OnNode

# The first ones are numbered as ``NodeState``; the others are what operators have made of a node that is up.
STANDINGS = (*(state.name for state in NodeState), "CORDONED", "DRAINING", "DRAINED", "LEAVING", "MAINTENANCE")
WHOLE = 200  # a share of a node's capacity is told in this many parts; what is not nothing is at least one part
STALE_S = 5.0  # five heartbeats without news
NEVER = 1  # in ``silent``: nobody knows since when
COLUMNS = {
    "standing": "u1", "held": "u1", "memory": "u1", "cores": "u1", "gpus": "u1", "used_memory": "u1",
    "used_cores": "u1", "containers": "<u2", "silent": "<u4",
}  # fmt: skip
_ROWS = f"""
SELECT sub_cluster_id, id, name, rack, labels::text, ARRAY[{per_axis("{0}")}]::bigint[], state, duty
  FROM statestore_node WHERE sub_cluster_id = ANY(%s) AND state <> %s
"""
# Every change of a row gives it a new xmin, so the sums differ whenever a row was added, changed or taken away.
_REVISIONS = """
SELECT sub_cluster_id, count(*), sum(xmin::text::bigint) FROM statestore_node WHERE state <> %s GROUP BY 1
"""
_CODE = {name: number for number, name in enumerate(STANDINGS)}
_WISHES = {
    Node.Duty.CORDONED: _CODE["CORDONED"],
    Node.Duty.DRAINING: _CODE["DRAINING"],
    Node.Duty.DECOMMISSIONED: _CODE["LEAVING"],
    Node.Duty.IN_SERVICE: _CODE["MAINTENANCE"],
}
_DIGITS = re.compile(r"\d+")


class _Row(NamedTuple):
    """One of ``_ROWS``. labels: JSON text. capacity: along ``AXES``."""

    sub_cluster: int
    id: int
    name: str
    rack: str
    labels: str
    capacity: list[int]
    state: int
    duty: str


@dataclass(frozen=True, slots=True)
class Nodes:
    """A sub-cluster's nodes that have not left for good, by rack and name, numbers within names as numbers.

    told: the members of a JSON object that say what they are. id, state: (n,).
    capacity: (n, R) along ``AXES``. names, racks, labels (JSON text), duties: n each.
    """

    told: str
    id: np.ndarray
    state: np.ndarray
    capacity: np.ndarray
    names: list[str]
    racks: list[str]
    labels: list[str]
    duties: list[str]

    def row(self, at: int) -> dict[str, Any]:
        """What an expression over nodes looks at."""
        return {"name": self.names[at], "rack": self.racks[at], "labels": json.loads(self.labels[at])}


def revisions() -> dict[int, tuple[int, int]]:
    """By sub-cluster number: two numbers that differ from earlier ones if a node's row has changed. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_REVISIONS, [NodeState.DECOMMISSIONED])
        return {sub: (count, int(total)) for sub, count, total in cursor.fetchall()}


def read(sub_clusters: Sequence[int]) -> dict[int, Nodes]:
    """The nodes of these sub-clusters. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [list(sub_clusters), NodeState.DECOMMISSIONED])
        rows = [_Row._make(row) for row in cursor.fetchall()]
    racks = {rack: natural(rack) for rack in {row.rack for row in rows}}
    rows.sort(key=lambda row: (row.sub_cluster, racks[row.rack], row.rack, natural(row.name), row.id))
    found = {sub: _nodes(list(of_sub)) for sub, of_sub in groupby(rows, key=lambda row: row.sub_cluster)}
    return {sub: found.get(sub) or _nodes([]) for sub in sub_clusters}


def natural(name: str) -> str:
    """What names are put in order by: sub-2 comes before sub-10."""
    return _DIGITS.sub(lambda digits: digits[0].zfill(12), name)


def _nodes(rows: list[_Row]) -> Nodes:
    ids = np.array([row.id for row in rows], np.int64)
    names, racks, labels = ([getattr(row, of) for row in rows] for of in ("name", "rack", "labels"))
    capacity = np.array([row.capacity for row in rows], np.int64).reshape(-1, len(AXES))
    kinds: dict[tuple[str, tuple[int, ...]], int] = {}
    kind = [kinds.setdefault((row.labels, (*row.capacity,)), len(kinds)) for row in rows]
    told = {
        "ids": np.diff(ids, prepend=0).tolist(),
        "names": names,
        "racks": _runs(racks),
        "kinds": [
            {"labels": json.loads(of), "capacity": dict(zip(AXES, amounts, strict=True))} for of, amounts in kinds
        ],
        "kind": _runs(kind),
    }  # fmt: skip
    text = json.dumps(told, separators=(",", ":"))[1:-1]
    state = np.array([row.state for row in rows], np.uint8)
    return Nodes(text, ids, state, capacity, names, racks, labels, [row.duty for row in rows])


def _runs(values: Iterable[Any]) -> list[Any]:
    """Each value that stands side by side once, followed by how often."""
    return [part for value, run in groupby(values) for part in (value, sum(1 for _ in run))]


def columns(
    n: Nodes, sub: SubCluster, windows: list[Window], loads: NodeLoads | None, untold: set[int], now: Any
) -> dict[str, np.ndarray]:
    """What moves, in the types of ``COLUMNS``. untold: nodes of whose duty their RM has not heard. now: an aware time.

    silent: 0 while reports are fresh, else the Unix second of the last one, or ``NEVER``.
    """  # fmt: skip
    size = len(n.id)
    at = np.searchsorted(loads.id, n.id) if loads is not None else np.zeros(size, np.int64)
    known = np.zeros(size, np.bool_)
    if loads is not None and len(loads.id):
        at = np.minimum(at, len(loads.id) - 1)
        known = loads.id[at] == n.id

    def told(name: str) -> np.ndarray:
        if loads is None or not known.any():
            return np.zeros(size, np.int64)
        column = loads.allocated[name] if name in loads.allocated else getattr(loads, name)
        return np.where(known, column[at], 0)

    state = np.where(known & (told("state") < len(NodeState)), told("state"), n.state).astype(np.uint8)
    seen = np.where(known, (loads.at if loads else 0.0) - told("age_ms") / 1000, 0)
    old = (now.timestamp() - seen > STALE_S) | (state == NodeState.LOST)
    never = ~known | (state == NodeState.REGISTERED)
    found = {
        "standing": _standings(n, state, sub, windows, told("containers"), known, untold, now),
        "held": told("held"),
        "memory": _share(told("memory_mib"), n.capacity[:, MEMORY]),
        "cores": _share(told("vcores_milli"), n.capacity[:, CORES]),
        "gpus": _share(told("gpus"), n.capacity[:, GPUS]),
        "used_memory": _share(told("used_memory_mib"), n.capacity[:, MEMORY]),
        "used_cores": _share(told("used_cpu_milli"), n.capacity[:, CORES]),
        "containers": np.minimum(told("containers"), 65_535),
        "silent": np.where(never, NEVER, np.where(old, np.maximum(seen, 2), 0)),
    }
    return {name: found[name].astype(kind) for name, kind in COLUMNS.items()}


def own_columns(n: Nodes, of: dict[str, np.ndarray], own: dict[int, OnNode]) -> dict[str, np.ndarray]:
    """The columns as an account may see them that sees only its own containers. own: see ``veil.on_nodes``."""
    mine = [own.get(number, OnNode()) for number in n.id.tolist()]
    shares = _share(np.array([on.amounts for on in mine], np.int64).reshape(-1, len(AXES)), n.capacity)
    found = {"memory": shares[:, MEMORY], "cores": shares[:, CORES], "gpus": shares[:, GPUS]}
    found |= {name: np.zeros(len(n.id)) for name in ("held", "used_memory", "used_cores")}
    found["containers"] = np.minimum([on.containers for on in mine], 65_535)
    return of | {name: column.astype(COLUMNS[name]) for name, column in found.items()}


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    shares = np.where(whole > 0, WHOLE * np.maximum(part, 0) // np.maximum(whole, 1), 0)
    return np.clip(np.where((part > 0) & (whole > 0), np.maximum(shares, 1), shares), 0, WHOLE)


def _standings(
    n: Nodes, state: np.ndarray, sub: SubCluster, windows: list[Window], containers: np.ndarray, known: np.ndarray,
    untold: set[int], now: Any,
) -> np.ndarray:  # fmt: skip
    """A node's state; of one that is up, what operators have made of that."""
    found = state.copy()
    leaves = sub.state == SubCluster.State.DRAINING
    active = [w for w in windows if w.active(now)]
    if not active and not leaves and all(duty == Node.Duty.IN_SERVICE for duty in n.duties):
        return found
    for at in np.flatnonzero(state == NodeState.UP).tolist():
        duty = n.duties[at]
        kept = bool(active) and any(w.matches(n.row(at)) for w in active)
        if duty == Node.Duty.IN_SERVICE and not kept and not leaves:
            continue
        emptied = kept or leaves or duty in Node.EMPTYING
        if emptied and known[at] and containers[at] == 0 and int(n.id[at]) not in untold:
            found[at] = _CODE["DRAINED"]
        elif leaves and duty in (Node.Duty.IN_SERVICE, Node.Duty.CORDONED):
            found[at] = _CODE["DRAINING"]
        else:
            found[at] = _WISHES[Node.Duty(duty)]
    return found
