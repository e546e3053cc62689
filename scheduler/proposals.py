"""Placements that slower or parallel planners propose over the version of the snapshot they saw."""

from dataclasses import replace

import numpy as np

from scheduler.core.plan import Place
from scheduler.core.snapshot import Snapshot
from scheduler.shares.ceilings import Ceilings


def take_proposals(
    s: Snapshot, proposals: tuple[Place, ...], free: np.ndarray
) -> tuple[Snapshot, list[Place], list[str]]:
    """(the snapshot with what is still wanted and used, what is taken, why the rest was rejected).

    A proposal is taken whole or not at all; ``free`` is counted down by those that are taken.
    """
    taken: list[Place] = []
    rejected: list[str] = []
    if not proposals:
        return s, taken, rejected
    ceilings = Ceilings(s.queues)
    wanted = s.asks.count.copy()
    user_room = s.users.maximum - s.users.used
    for p in proposals:
        given = np.bincount(p.ask, minlength=len(wanted))
        shapes = s.asks.shapes[s.asks.shape[p.ask]]
        after, room = free.copy(), ceilings.room.copy()
        np.subtract.at(after, p.node, shapes)
        for ask, shape in zip(p.ask.tolist(), shapes, strict=True):
            ceilings.take(int(s.ask_queue[ask]), shape)
        users = user_room.copy()
        np.subtract.at(users, s.jobs.user[s.asks.job[p.ask]], shapes)
        short = (after < 0) & (after < free)
        if why := _conflict(s, p, short, given, wanted) or _over(ceilings.room, room, users, user_room):
            ceilings.room = room
            rejected.append(f"a proposal of {len(p.ask)} containers {why}")
            continue
        free[:], user_room = after, users
        wanted -= given
        taken.append(p)
    return _reduced(s, wanted), taken, rejected


def _over(queues: np.ndarray, before: np.ndarray, users: np.ndarray, users_before: np.ndarray) -> str:
    """Which maximum has less than no room after the proposal, or nothing."""
    if ((queues < 0) & (queues < before)).any():
        return "takes a queue over its maximum"
    return "takes a user over his maximum" if ((users < 0) & (users < users_before)).any() else ""


def _conflict(s: Snapshot, p: Place, short: np.ndarray, given: np.ndarray, wanted: np.ndarray) -> str:
    """Why nodes or asks do not take the proposal, or nothing: nodes ``short`` of room, what asks are given."""
    if short.any() or not s.nodes.open[p.node].all():
        return "no longer fits its nodes"
    if not s.asks.masks[s.asks.mask[p.ask], p.node].all():
        return "uses nodes its labels exclude"
    if (given > wanted).any():
        return "gives an ask more than it wants"
    return "takes a gang apart" if (s.asks.gang & (given > 0) & (given < wanted)).any() else ""


def _reduced(s: Snapshot, wanted: np.ndarray) -> Snapshot:
    """The snapshot after proposals: asks want less, and queues, users and jobs hold more."""
    amounts = (s.asks.count - wanted)[:, None] * s.asks.shapes[s.asks.shape]
    jobs, users, queues = s.jobs.used.copy(), s.users.used.copy(), s.queues.used.copy()
    np.add.at(jobs, s.asks.job, amounts)
    np.add.at(users, s.jobs.user[s.asks.job], amounts)
    queue = s.ask_queue.copy()
    while (queue >= 0).any():
        inside = queue >= 0
        np.add.at(queues, queue[inside], amounts[inside])
        queue = np.where(inside, s.queues.parent[queue], -1)
    return replace(
        s,
        queues=replace(s.queues, used=queues),
        users=replace(s.users, used=users),
        jobs=replace(s.jobs, used=jobs),
        asks=replace(s.asks, count=wanted),
    )
