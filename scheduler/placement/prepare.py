"""Tables that a round's placement starts from: kinds, racks, and how far each ask may go from what it prefers."""

import numpy as np

from scheduler.core.compiled import kernel, part
from scheduler.placement.board import ANY, NODE, RACK, Ground, Wants
from scheduler.placement.fills import Fill
from scheduler.placement.limits import units_within
from scheduler.placement.line import join

_FILLS = len(Fill)


@kernel
def number_kinds(
    shape: np.ndarray, mask: np.ndarray, fill: np.ndarray, default: int, masks: int, kind: np.ndarray, first: np.ndarray
) -> int:
    """Number the distinct (shape, mask, fill) in order of appearance: how many there are.

    shape, mask: (a,) int64. fill: (a,) int8, negative for ``default``. Sets kind: (a,) int64, and in ``first``,
    (a,) int64, an ask of each kind.
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
        kind[a] = kind_at[slot]
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
def line_up(g: Ground, start: int) -> None:
    """Put all usable nodes in line, those from ``start`` on first; the lines are empty."""
    n = g.free.shape[0]
    for x in range(n):
        node = x + start if x + start < n else x + start - n
        if g.usable[node]:
            join(g, node)


@kernel
def set_levels(
    g: Ground,
    w: Wants,
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
    alive = np.zeros(len(g.rack_from), np.bool_)
    for node in range(g.free.shape[0]):
        alive[g.rack[node]] |= g.usable[node]
    for a in range(len(waited)):
        w.level[a] = ANY
        if w.near_from[a] < w.near_from[a + 1] or w.near_rack_from[a] < w.near_rack_from[a + 1]:
            near, racks = _worth_waiting(g, w, a, alive)
            wait_s, let_pass = node_wait_s if near else 0.0, node_misses if near else 0
            more_s, more = rack_wait_s if racks else 0.0, rack_misses if racks else 0
            by_misses = (node_misses > 0 or not near) and (rack_misses > 0 or not racks)
            if w.gang[a] or waited[a] >= wait_s + more_s or (by_misses and misses[a] >= let_pass + more):
                w.level[a] = ANY
            elif waited[a] >= wait_s or (node_misses > 0 and misses[a] >= node_misses) or not near:
                w.level[a] = RACK if racks else ANY
            else:
                w.level[a] = NODE


@part
def _worth_waiting(g: Ground, w: Wants, a: int, alive: np.ndarray) -> tuple[bool, bool]:
    """Whether any preferred node, and any of the racks, may ever take ask ``a``."""
    near, racks = False, False
    for x in range(w.near_from[a], w.near_from[a + 1]):
        node = w.near[x]
        racks |= alive[g.rack[node]]
        if g.usable[node] and g.masks[w.mask[a], node]:
            near |= units_within(g.capacity, node, g.shapes, w.shape[a], 1) == 1
    for x in range(w.near_rack_from[a], w.near_rack_from[a + 1]):
        racks |= alive[w.near_rack[x]]
    return near, racks
