"""What a round's placement starts from: equivalence classes, racks, and each ask's locality.

Delay scheduling (Zaharia et al., EuroSys '10) decides how far an ask may go from the nodes and racks that it prefers.
"""

import numpy as np

from scheduler.core.compiled import inlined, kernel
from scheduler.placement.bucketqueue import enqueue
from scheduler.placement.fills import Fill
from scheduler.placement.limits import units_within
from scheduler.placement.tables import NODE_LOCAL, OFF_SWITCH, RACK_LOCAL, AskTable, NodeTable

_FILLS = len(Fill)


@kernel
def number_classes(
    shape: np.ndarray,
    mask: np.ndarray,
    fill: np.ndarray,
    default: int,
    masks: int,
    eq_class: np.ndarray,
    first: np.ndarray,
) -> int:
    """Number the distinct (shape, mask, fill) in order of appearance: how many there are.

    shape, mask: (a,) int64. fill: (a,) int8, negative for ``default``. Sets eq_class: (a,) int64, and in ``first``,
    (a,) int64, an ask of each class.
    """
    slots = 16
    while slots < 2 * len(shape):
        slots *= 2
    code_at, kind_at = np.full(slots, -1, np.int64), np.zeros(slots, np.int64)
    count = 0
    for a in range(len(shape)):
        filled = fill[a] if fill[a] >= 0 else default
        code = (np.int64(shape[a]) * masks + mask[a]) * _FILLS + filled
        slot = (code * 2654435761 >> 8) & (slots - 1)
        while code_at[slot] != code and code_at[slot] >= 0:
            slot = (slot + 1) & (slots - 1)
        if code_at[slot] < 0:
            code_at[slot], kind_at[slot] = code, count
            first[count] = a
            count += 1
        eq_class[a] = kind_at[slot]
    return count


@kernel
def list_racks(rack: np.ndarray, rack_from: np.ndarray, rack_node: np.ndarray) -> None:
    """Nodes by rack: fills rack_from, (racks + 1,) int64 zeros, and rack_node, (n,) int64."""
    racks = len(rack_from) - 1
    for node in range(len(rack)):
        rack_from[rack[node] + 1] += 1
    for x in range(racks):
        rack_from[x + 1] += rack_from[x]
    at = rack_from.copy()
    for node in range(len(rack)):
        rack_node[at[rack[node]]] = node
        at[rack[node]] += 1


@kernel
def enqueue_all(nodes: NodeTable, start: int) -> None:
    """Put all usable nodes into the bucket queue, which is empty, those from ``start`` on first."""
    n = nodes.free.shape[0]
    for x in range(n):
        node = x + start if x + start < n else x + start - n
        if nodes.usable[node]:
            enqueue(nodes, node)


@kernel
def set_locality_levels(
    nodes: NodeTable,
    asks: AskTable,
    waited: np.ndarray,
    misses: np.ndarray,
    node_wait_s: float,
    rack_wait_s: float,
    node_misses: int,
    rack_misses: int,
) -> None:
    """The level of locality open to each ask.

    waited: (a,) float64 s since it let the first opportunity pass. misses: (a,) int64, how many it has. Nobody
    waits for nodes or racks that take no containers of the ask, or in a gang.
    """
    alive = np.zeros(len(nodes.rack_from), np.bool_)
    for node in range(nodes.free.shape[0]):
        alive[nodes.rack[node]] |= nodes.usable[node]
    for a in range(len(waited)):
        asks.locality[a] = OFF_SWITCH
        if asks.near_from[a] < asks.near_from[a + 1] or asks.near_rack_from[a] < asks.near_rack_from[a + 1]:
            near, racks = _worth_waiting(nodes, asks, a, alive)
            wait_s, let_pass = node_wait_s if near else 0.0, node_misses if near else 0
            more_s, more = rack_wait_s if racks else 0.0, rack_misses if racks else 0
            by_misses = (node_misses > 0 or not near) and (rack_misses > 0 or not racks)
            if asks.gang[a] or waited[a] >= wait_s + more_s or (by_misses and misses[a] >= let_pass + more):
                asks.locality[a] = OFF_SWITCH
            elif waited[a] >= wait_s or (node_misses > 0 and misses[a] >= node_misses) or not near:
                asks.locality[a] = RACK_LOCAL if racks else OFF_SWITCH
            else:
                asks.locality[a] = NODE_LOCAL


@inlined
def _worth_waiting(nodes: NodeTable, asks: AskTable, a: int, alive: np.ndarray) -> tuple[bool, bool]:
    """Whether any preferred node, and any of the racks, may ever take ask ``a``."""
    near, racks = False, False
    for x in range(asks.near_from[a], asks.near_from[a + 1]):
        node = asks.near[x]
        racks |= alive[nodes.rack[node]]
        if nodes.usable[node] and nodes.masks[asks.mask[a], node]:
            near |= units_within(nodes.capacity, node, nodes.shapes, asks.shape[a], 1) == 1
    for x in range(asks.near_rack_from[a], asks.near_rack_from[a + 1]):
        racks |= alive[asks.near_rack[x]]
    return near, racks
