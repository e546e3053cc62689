"""The limits that bind one ask, each with what was asked and what there is."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from scheduler.core.plan import Why
from scheduler.explain.amounts import amount_number, amount_text, by_resource, duration_text, shortest
from scheduler.explain.change import Situation
from scheduler.explain.columns import LIMIT_ORDER, Explanation
from scheduler.explain.feasibility import FreePieces, free_pieces
from scheduler.placement.tables import NODE_LOCAL, OFF_SWITCH, RACK_LOCAL

Limit = dict[str, Any]
LOCALITY_NAMES = ("node", "rack", "any")  # of ``NODE_LOCAL``, ``RACK_LOCAL`` and ``OFF_SWITCH``, in answers
NO_NODES = "no node of its sub-cluster takes containers now"


def binding(e: Explanation, row: int) -> list[Why]:
    """In the order in which a round meets them."""
    bits = int(e.columns.limits[row])
    return [why for why in LIMIT_ORDER if bits >> why & 1]


def queue_path(e: Explanation, queue: int) -> list[int]:
    """The queue and those above it."""
    found = []
    while queue >= 0:
        found.append(queue)
        queue = int(e.s.queues.parent[queue])
    return found


def situation_of(e: Explanation, ask: int) -> Situation:
    """What the ask has before it: its leaf's maximum, those above it, its user's, and the nodes it may use."""
    s = e.s
    user = int(s.jobs.user[s.asks.job[ask]])
    above = queue_path(e, int(s.users.queue[user]))
    room = np.concatenate((e.queue_room[above], e.user_room[user : user + 1]))
    over = [f"the maximum of {s.queues.paths[q]}" for q in above]
    over.append(f"what one user may hold in {s.queues.paths[above[0]]}")
    return Situation(
        s.axis, s.asks.shapes[s.asks.shape[ask]], int(e.outcome.left[ask]) if s.asks.gang[ask] else 1, e.outcome.free,
        *_on_nodes(e, ask), room, tuple(over),
    )  # fmt: skip


def _on_nodes(e: Explanation, ask: int) -> tuple[np.ndarray, FreePieces]:
    """(nodes it may be placed on, what they have for it), worked out once for asks of a kind."""
    a = e.s.asks
    own = bool((e.reserved_for == a.key[ask]).any())
    key = ("nodes", int(a.shape[ask]), int(a.mask[ask]), ask if own else -1)
    found = e.cache.get(key)
    if found is None:
        nodes = usable_nodes(e, ask, a.masks[a.mask[ask]])
        found = e.cache[key] = nodes, free_pieces(e.outcome.free, nodes, a.shapes[a.shape[ask]])
    on_nodes: tuple[np.ndarray, FreePieces] = found
    return on_nodes


def usable_nodes(e: Explanation, ask: int, mask: np.ndarray) -> np.ndarray:
    """Nodes of a mask that the ask may be placed on: (n,) bool."""
    found: np.ndarray = e.s.nodes.open & ((e.reserved_for < 0) | (e.reserved_for == e.s.asks.key[ask])) & mask
    return found


def limit_entries(e: Explanation, row: int, situation: Situation, labels: str, besides: str) -> list[Limit]:
    """One entry per limit. labels: the ask's expression. besides: what else its nodes must be, for the sentence."""
    ask = int(e.columns.ask[row])
    found: list[Limit] = []
    for why in binding(e, row):
        match why:
            case Why.QUEUE_MAXIMUM | Why.USER_MAXIMUM:
                found += _maxima(e, ask, situation, why)
            case Why.NO_NODE_MATCHES:
                found.append(_no_match(e, ask, situation, labels, besides))
            case Why.GANG:
                found.append(_gang(situation))
            case Why.LOCALITY_WAIT:
                found.append(_locality(e, ask))
            case Why.RESERVED if e.kept_back_by(ask) >= 0:
                found.append(_behind(e, ask))
            case Why.NO_ROOM | Why.RESERVED:
                takes = bool((e.s.nodes.open & e.s.asks.masks[e.s.asks.mask[ask]]).any())
                found.append(_no_room(situation, why, takes))
            case _:
                found.append({"limit": why.name.lower(), "text": _plain(e, ask, why), "asked": {}, "available": {}})
    return found


def _plain(e: Explanation, ask: int, why: Why) -> str:
    if why == Why.NO_NODES:
        return f"{NO_NODES.capitalize()}."
    if why == Why.QUEUE_SHARE:
        return f"{e.s.queues.paths[int(e.s.ask_queue[ask])]} holds its share; others are owed what is free."
    return "The round was full; its turn comes with the next one."


def _maxima(e: Explanation, ask: int, situation: Situation, why: Why) -> Iterator[Limit]:
    """One for each maximum that the ask would exceed, the leaf's first."""
    need, lacks = situation.shape * situation.units, situation.lacking()
    user = e.s.jobs.user[e.s.asks.job[ask]]
    above = queue_path(e, int(e.s.users.queue[user]))
    for at in range(len(above)) if why == Why.QUEUE_MAXIMUM else [len(above)]:
        short = lacks[at] > 0
        if not short.any():
            continue
        queue = e.s.queues.paths[above[at if why == Why.QUEUE_MAXIMUM else 0]]
        who = f"The queue {queue} is at its maximum"
        if why == Why.USER_MAXIMUM:
            who = f"The job's owner holds the most that one user may hold in {queue}"
        k = shortest(need, situation.room[at])
        resource, left = e.s.axis[k], max(0, int(situation.room[at, k]))
        at_once = f" for {situation.units:,} at once" if situation.units > 1 else ""
        if why == Why.QUEUE_MAXIMUM and e.s.queues.maximum[above[at], k] <= 0:
            who = _none_here(e, above[at], k)
        asked = amount_number(resource, int(need[k]))
        yield {
            "limit": why.name.lower(),
            "text": f"{who}: {amount_text(resource, left)} left, asked {asked}{at_once}.",
            "asked": by_resource(e.s.axis, need, short),
            "available": by_resource(e.s.axis, situation.room[at], short),
            "queue": queue,
        }


def _none_here(e: Explanation, queue: int, k: int) -> str:
    """Why a maximum leaves none of a resource here at all."""
    queues = e.s.queues
    if queues.elsewhere is not None and queues.elsewhere[queue, k]:
        none = "all that it may hold is in other sub-clusters"
    else:
        none = "its maximum is nothing, or a share of what its partition lacks"
    return f"The queue {queues.paths[queue]} may hold none here ({none})"


def _no_match(e: Explanation, ask: int, situation: Situation, labels: str, besides: str) -> Limit:
    s = e.s
    matching = s.asks.masks[s.asks.mask[ask]]
    out: Limit = {"limit": "no_node_matches", "asked": {}, "available": {}}
    if not matching.any():
        wanted = "of its partition is among those it may run on"
        if labels:
            wanted = f"that it may use matches the labels {labels!r}"
        return out | {"text": f"No node {wanted}{besides}."}
    largest = s.nodes.capacity[matching].max(axis=0)
    over = situation.shape > largest
    if over.any():
        k = shortest(situation.shape, largest)
        asked, most = amount_text(s.axis[k], int(situation.shape[k])), amount_number(s.axis[k], int(largest[k]))
        return out | {
            "text": f"Asked {asked} per container; the largest node has {most}.",
            "asked": by_resource(s.axis, situation.shape, over),
            "available": by_resource(s.axis, largest, over),
        }
    if situation.units > 1 and (most_at_once := free_pieces(s.nodes.capacity, matching, situation.shape).fits):
        return out | {
            "text": f"Needs {situation.units:,} at once; even empty, the nodes it may use hold {most_at_once:,}.",
            "asked": {"containers": situation.units},
            "available": {"containers": most_at_once},
        }
    return out | {"text": "No single node is large enough in every resource."}


def _gang(situation: Situation) -> Limit:
    fit = min(situation.units, situation.pieces.fits)
    return {
        "limit": "gang",
        "text": f"Needs {situation.units:,} at once; {fit:,} fit now.",
        "asked": {"containers": situation.units},
        "available": {"containers": fit},
    }


class DelayLeft(NamedTuple):
    """What an ask has before it of delay scheduling.

    locality: that it may use now. next_s: until it may go further. off_switch_s: until it may go anywhere.
    """

    locality: int
    next_s: float
    off_switch_s: float


def locality_delay_left(e: Explanation, ask: int) -> DelayLeft:
    """How long the ask still holds out for nodes and racks that it prefers."""
    s, p = e.s, e.locality_delay
    usable_now = s.nodes.open & (e.reserved_for < 0)
    near = s.asks.near[s.asks.near_from[ask] : s.asks.near_from[ask + 1]]
    racks = s.asks.near_rack[s.asks.near_rack_from[ask] : s.asks.near_rack_from[ask + 1]]
    shape = s.asks.shapes[s.asks.shape[ask]]
    large = ((s.nodes.capacity[near] >= shape) | (shape <= 0)).all(axis=1)
    near_worth = bool((usable_now[near] & s.asks.masks[s.asks.mask[ask], near] & large).any())
    around = np.isin(s.nodes.rack, np.concatenate((s.nodes.rack[near], racks)))
    racks_worth = bool((around & usable_now).any())
    to_racks = p.node_wait_s if near_worth else 0.0
    to_any = to_racks + (p.rack_wait_s if racks_worth else 0.0)
    at = np.flatnonzero(e.memo.delayed == s.asks.key[ask])
    waited = e.now - float(e.memo.delayed_since[at[0]]) if len(at) else 0.0
    to_rack_now = _by_misses(e, ask) or waited >= to_racks
    locality = OFF_SWITCH if waited >= to_any else RACK_LOCAL if to_rack_now else NODE_LOCAL
    until = to_any if locality > NODE_LOCAL or not racks_worth else to_racks
    return DelayLeft(locality, max(0.0, until - waited), max(0.0, to_any - waited))


def _by_misses(e: Explanation, ask: int) -> bool:
    """Whether it has let enough opportunities pass to go to racks."""
    at = np.flatnonzero(e.memo.delayed == e.s.asks.key[ask])
    return bool(0 < e.locality_delay.node_misses <= (e.memo.missed[at[0]] if len(at) else 0))


def _locality(e: Explanation, ask: int) -> Limit:
    level, left, to_any = locality_delay_left(e, ask)
    left = round(left, 1)
    near, then = "nodes", "any node" if left >= to_any else "their racks"
    if level > NODE_LOCAL:
        near, then = "racks", "any node"
    return {
        "limit": "locality_wait",
        "text": f"There is room elsewhere; it waits {left:g} s more for its preferred {near}, then takes {then}.",
        "asked": {},
        "available": {},
        "level": LOCALITY_NAMES[level],
        "wait_s": left,
    }


def _behind(e: Explanation, ask: int) -> Limit:
    """There is room, until an ask before it is to start, and it would run longer."""
    out: Limit = {"limit": "reserved", "asked": {}, "available": {}}
    left, takes = e.promised_wait_s(e.kept_back_by(ask)), float(e.s.asks.duration[ask])
    if left is None:
        return out | {"text": "There is room, but its queue starts jobs strictly in order, and one before it waits."}
    known = (
        f"this one is expected to take {duration_text(takes)}" if takes > 0 else "nobody said how long this one takes"
    )
    lasts = f"for {duration_text(left)} only, until" if left >= 1 else "only until, at any moment,"
    return out | {
        "text": f"There is room {lasts} a job that waits before it is to start there; {known}.",
        "asked": {"seconds": int(takes)} if takes > 0 else {},
        "available": {"seconds": int(left - left % _coarse(left))},
    }


def _coarse(left: float) -> int:
    """In steps of so many seconds, so that a reason does not say something else every second."""
    return 1 if left < 90 else 60 if left < 5400 else 600


def _no_room(situation: Situation, why: Why, takes: bool) -> Limit:
    """How the free pieces compare: the largest of each resource or, if each is large enough, the nearest node.

    takes: whether any node that matches takes containers now, if only those of others.
    """
    out: Limit = {"limit": why.name.lower(), "asked": {}, "available": {}}
    held = why == Why.RESERVED
    if not situation.usable.any():
        if held:
            return out | {"text": "Every node with room is held free for another job."}
        full = "Every matching node is full, and held free for a job that waited longer."
        return out | {"text": full if takes else "No matching node takes containers now."}
    over = situation.shape > situation.pieces.largest
    piece = situation.pieces.largest if over.any() else situation.pieces.nearest
    short = situation.shape > piece
    k = shortest(situation.shape, piece)
    resource = situation.axis[k]
    there, asked = amount_text(resource, int(piece[k])), amount_number(resource, int(situation.shape[k]))
    text = f"Largest free piece {there}, asked {asked}; it starts when room is free."
    if not over.any():
        text = "No single node has room in every resource at once"
        text += f": the nearest has {there}, asked {asked}; it starts when one has."
    if held:
        text = f"The nodes with room are held free for jobs that waited longer. {text}"
    return out | {
        "text": text,
        "asked": by_resource(situation.axis, situation.shape, short),
        "available": by_resource(situation.axis, piece, short),
    }
