"""A round over two nodes that meets every rule once: what the kernels are compiled from.

``python -m scheduler.warm`` compiles into the cache and ends.
"""

import gc
from dataclasses import replace

import numpy as np

from scheduler.core.compiled import compile_all
from scheduler.core.plan import Why
from scheduler.core.snapshot import Asks, Backfill, Jobs, Memo, Nodes, Ordering, Queues, Running, Snapshot, Users
from scheduler.placement.fills import Fill
from wire.resources import AXES

R = len(AXES)
_MANY = 1 << 40


def snapshot() -> Snapshot:
    """Two nodes, three queues of each ordering, an ask per rule, one container each for reclaiming."""
    asks = len(Fill) + 2
    nodes = Nodes(
        np.full((2, R), 8, np.int64),
        np.array([[8] * R, [4] * R], np.int64),
        np.ones(2, np.bool_),
        np.zeros(2, np.int32),
    )
    queues = Queues(
        ["root", "root.a", "root.b", "root.c"],
        np.array([-1, 0, 0, 0], np.int32),
        np.full((4, R), 4, np.int64),
        np.full((4, R), _MANY, np.int64),
        np.array([[4] * R, [4] * R, [0] * R, [0] * R], np.int64),
        np.ones(4),
        np.array([0, *Ordering], np.int8),
        np.ones(4, np.bool_),
    )
    users = Users(np.array([1, 2, 3], np.int32), np.zeros((3, R), np.int64), np.full((3, R), _MANY, np.int64))
    jobs = Jobs(np.arange(asks, dtype=np.int32) % np.int32(3), np.zeros(asks, np.int32), np.zeros((asks, R), np.int64))
    return Snapshot(AXES, nodes, queues, users, jobs, _asks(asks), _running())


def _asks(a: int) -> Asks:
    return Asks(
        key=np.arange(a, dtype=np.int64),
        count=np.full(a, 9, np.int64),
        job=np.arange(a, dtype=np.int32),
        shape=np.arange(a, dtype=np.int32) % np.int32(2),
        mask=np.zeros(a, np.int32),
        since=np.full(a, -1e6),
        gang=np.arange(a) == a - 1,
        fill=np.array([-1, *Fill, -1], np.int8),
        near_from=np.arange(a + 1, dtype=np.int32),
        near=np.zeros(a, np.int32),
        near_rack_from=np.arange(a + 1, dtype=np.int32),
        near_rack=np.zeros(a, np.int32),
        duration=np.ones(a),
        shapes=np.array([[1] * R, [2] * R], np.int64),
        masks=np.ones((1, 2), np.bool_),
    )


def _running() -> Running:
    c = 4
    return Running(
        id=np.arange(c, dtype=np.int64),
        node=np.ones(c, np.int32),
        job=np.full(c, -1, np.int32),
        queue=np.ones(c, np.int32),
        priority=np.zeros(c, np.int32),
        shape=np.ones((c, R), np.int64),
        started=np.zeros(c),
        ends=np.full(c, np.inf),
        protected=np.zeros(c, np.bool_),
    )


def warm() -> None:
    """Call every kernel with the types that rounds use."""
    from scheduler.explain.columns import explain_all
    from scheduler.explain.forecast import Forecast
    from scheduler.explain.sentence import AskContext, describe
    from scheduler.round import RoundPolicy, plan_round

    s = snapshot()
    plan, memo = plan_round(s, Memo(), RoundPolicy(), 0.0)
    if plan.outcome is not None:
        explanation = explain_all(s, plan.outcome, memo, RoundPolicy().placement, 0.0)
        describe(explanation, 0, AskContext(), Forecast(s, plan.outcome.free, 0.0))
    plan_round(replace(s, running=None), memo, RoundPolicy(), 0.0)
    plan_round(_backfilling(s), memo, RoundPolicy(), 0.0)
    _reclaim(s)
    _divide()


def _backfilling(s: Snapshot) -> Snapshot:
    """Each queue by another rule; what runs ends soon."""
    assert s.running is not None
    rules = np.array([Backfill.NONE, Backfill.EASY, Backfill.CONSERVATIVE, Backfill.NONE], np.int8)
    running = replace(s.running, ends=np.arange(1.0, 1 + len(s.running.ends)))
    return replace(s, queues=replace(s.queues, backfill=rules), running=running)


def _divide() -> None:
    """Two queues want more than there is of one of two sub-clusters, a third wants little of the other."""
    from scheduler.federation import comparators, gif
    from scheduler.shares.tree import ShareTree

    parent = np.array([-1, 0, 1, 1, 0], np.int32)
    tree = ShareTree(parent, np.full((5, R), 2, np.int64), np.full((5, R), _MANY, np.int64), np.ones(5))
    demand = np.zeros((5, 2, R), np.int64)
    demand[2, 0], demand[4, 0], demand[3, 1] = 20, 6, 1
    room = np.array([[8] * R, [4] * R], np.int64)
    for exact in (True, False):
        gif.shares(tree, room, demand, exact)
    comparators.load_based(tree, room, demand)


def _reclaim(s: Snapshot) -> None:
    """What queue a holds of two small nodes is owed to the others."""
    from scheduler.preemption.plan import plan_preemption
    from scheduler.preemption.policy import PreemptionPolicy

    nodes = replace(s.nodes, capacity=np.full((2, R), 2, np.int64), free=np.zeros((2, R), np.int64))
    queues = replace(s.queues, guaranteed=np.ones((4, R), np.int64))
    why = np.full(len(s.asks.count), Why.QUEUE_SHARE, np.int8)
    memo, policy = Memo(), PreemptionPolicy(intra_user=True)
    tight = replace(s, nodes=nodes, queues=queues)
    plan_preemption(tight, nodes.free, s.asks.count, why, (memo.warned, memo.warned_due), policy, 0.0)


if __name__ == "__main__":
    # The compiler makes millions of small objects that live until it ends: looking through them again and again is a
    # sixth of its time.
    gc.set_threshold(200_000, 50, 100)
    compile_all(warm)
