"""Why a task group waits, as people and programs read it."""

from typing import Any

import numpy as np

from controlplane.rm.jobs import GroupEntry
from scheduler.core.plan import Why
from scheduler.core.snapshot import AXIS, Snapshot

_UNITS = ("MiB of memory", "cores", "GPUs")  # along AXIS


def explain(s: Snapshot, group: GroupEntry, ask: int, missing: int, why: int, queue: int) -> dict[str, Any]:
    """The reason object of the API: a code, one honest sentence, and the numbers behind it."""
    mask = s.asks.masks[s.asks.mask[ask]]
    asked = dict(zip(AXIS, group.shape.tolist(), strict=True))
    reason: dict[str, Any] = {"code": Why(why).name.lower(), "waiting": missing, "asked": asked}
    match why:
        case Why.NO_NODES:
            reason["text"] = "No node of its sub-cluster takes containers now."
        case Why.NO_NODE_MATCHES:
            reason["text"] = _no_match(s, group, mask)
        case Why.QUEUE_MAXIMUM:
            path = s.queues.paths[queue]
            reason |= {
                "queue": path,
                "used": s.queues.used[queue].tolist(),
                "maximum": s.queues.maximum[queue].tolist(),
            }
            reason["text"] = f"The queue {path} is at its maximum."
        case _:
            reason |= _largest_free(s, group, mask)
    return reason


def _no_match(s: Snapshot, group: GroupEntry, matching: np.ndarray) -> str:
    if not matching.any():
        late = " and is free of maintenance until it would end" if group.wishes.duration_s else ""
        return f"No node matches the labels {group.node_labels!r}{late}."
    largest = s.nodes.capacity[matching].max(axis=0)
    over = np.flatnonzero(group.shape > largest)
    if not len(over):
        return "No single node is large enough in every resource."
    i = int(over[0])
    asked, most = _number(i, group.shape[i]), _number(i, largest[i])
    return f"Asked {asked} {_UNITS[i]} per container; the largest node has {most}."


def _number(axis: int, amount: int) -> str:
    """An amount as people say it: cores, not thousandths."""
    return f"{amount / 1000:g}" if AXIS[axis] == "vcores_milli" else f"{amount:,}"


def _largest_free(s: Snapshot, group: GroupEntry, mask: np.ndarray) -> dict[str, Any]:
    free = np.maximum(s.nodes.free[s.nodes.open & mask], 0)
    if not len(free):
        return {"text": "No matching node takes containers now."}
    largest = free.max(axis=0)
    numbers = {"largest_free": dict(zip(AXIS, largest.tolist(), strict=True))}
    over = np.flatnonzero(group.shape > largest)
    if not len(over):
        return numbers | {"text": "No single node has room in every resource at once; it starts when one has."}
    i = int(over[0])
    free_piece, asked = _number(i, largest[i]), _number(i, group.shape[i])
    return numbers | {
        "text": f"Largest free piece {free_piece} {_UNITS[i]}, asked {asked}; it starts when room is free."
    }
