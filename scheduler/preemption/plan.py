"""Which running containers are warned, killed or spared in a round, as one pure function.

The idea is that of YARN's capacity scheduler, which takes back what is over a queue's guarantee for those below theirs.

The whole set of containers that have to go is decided anew each time, with
those already warned taken up first: what is still needed stays under its
warning until its time is over, what is no longer needed is spared, and only what is
lacking beyond that is warned. So a mark is never repeated, and a kill is
always still needed.
"""

import numpy as np

from scheduler.core.plan import Preempt
from scheduler.core.snapshot import Running, Snapshot
from scheduler.preemption.policy import PreemptionPolicy
from scheduler.preemption.selection import (
    PreemptionRound,
    preempt_between_queues,
    preempt_between_users,
    preempt_for_priority,
    shareable_capacity,
)
from scheduler.preemption.tables import EXEMPT, PREEMPTABLE, VICTIM


def plan_preemption(
    s: Snapshot,
    free: np.ndarray,
    left: np.ndarray,
    why: np.ndarray,
    memo: tuple[np.ndarray, np.ndarray],
    policy: PreemptionPolicy,
    now: float,
    reserved_for: np.ndarray | None = None,
) -> tuple[Preempt, np.ndarray, np.ndarray]:
    """(what to do, the containers now under warning, and when their time is over).

    free: (n, r) int64 and left: (a,) int64 containers still wanted, both
    after this round's placement; why: (a,) int8 ``Why``. memo: ``warned`` and
    ``warned_due`` as the last call returned them. reserved_for: (n,) int32, the ask
    for which a node is reserved, or -1. A container whose time is over is told
    in ``kill`` as long as it is among the running; once it is being stopped it
    should come with ``ends`` at ``now``, and counts as free soon.
    """
    live, (ids, due_before) = s.running, memo
    if live is None or not len(live.id):
        return Preempt(spared=ids[:0]), ids[:0], due_before[:0]
    warned, due = _warned_until(live.id, ids, due_before)
    if not policy.reclaiming.plans:
        return Preempt(spared=live.id[warned]), ids[:0], due_before[:0]
    r = _preemption_round(
        s, live, policy, free, left, why, _nobody(s) if reserved_for is None else reserved_for, warned, now
    )
    preempt_between_queues(r)
    if policy.intra_priority:
        preempt_for_priority(r)
    if policy.intra_user:
        preempt_between_users(r)
    return _outcome(r, due, now)


def _nobody(s: Snapshot) -> np.ndarray:
    return np.full(len(s.nodes.open), -1, np.int32)


def _warned_until(ids: np.ndarray, warned: np.ndarray, due: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each running container whether it is under warning, and until when."""
    marked, until = np.zeros(len(ids), np.bool_), np.full(len(ids), np.inf)
    if len(warned):
        order = np.argsort(warned, kind="stable")
        at = np.minimum(np.searchsorted(warned, ids, sorter=order), len(warned) - 1)
        marked = warned[order[at]] == ids
        until[marked] = due[order[at[marked]]]
    return marked, until


def _preemption_round(
    s: Snapshot,
    live: Running,
    policy: PreemptionPolicy,
    free: np.ndarray,
    left: np.ndarray,
    why: np.ndarray,
    reserved_for: np.ndarray,
    warned: np.ndarray,
    now: float,
) -> PreemptionRound:
    # One whose expected end has passed has been misjudged, and so is like any other.
    ending = ~warned & (live.ends >= now) & (live.ends <= now + policy.grace_s)
    room = free.astype(np.int64)
    np.add.at(room, live.node[ending], live.shape[ending])
    return PreemptionRound(
        s=s,
        running=live,
        policy=policy,
        left=left.astype(np.int64),
        why=why,
        reserved_for=reserved_for.astype(np.int32),
        warned=warned,
        ending=ending,
        master=np.zeros(len(ending), np.bool_) if live.master is None else live.master,
        room=room,
        state=np.where(ending | live.protected, EXEMPT, PREEMPTABLE).astype(np.int8),
        taken=np.zeros((1, room.shape[1]), np.int64),
        bound=np.floor(policy.per_round * shareable_capacity(s)).astype(np.int64),
        owed_to=np.full(len(ending), -1, np.int32),
        intra=np.zeros(len(ending), np.bool_),
    )


def _outcome(r: PreemptionRound, due: np.ndarray, now: float) -> tuple[Preempt, np.ndarray, np.ndarray]:
    chosen = r.state == VICTIM
    due = np.where(r.warned, due, now + r.policy.grace_s)
    warn = np.flatnonzero(chosen & ~r.warned).astype(np.int32)
    preempt = Preempt(
        warn=warn,
        owed_to=r.owed_to[warn],
        intra=r.intra[warn],
        kill=np.flatnonzero(chosen & r.warned & (due <= now)).astype(np.int32),
        spared=r.running.id[r.warned & ~chosen],
    )
    return preempt, r.running.id[chosen], due[chosen]
