"""Rigid jobs played through the real ``plan_round``, from event to event on a clock of their own.

Each job is a gang of one-core containers; the machine is as many nodes of one
core, or one node that has them all.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from scheduler.core.invariants import check_plan
from scheduler.core.snapshot import Asks, Backfill, Jobs, Memo, Nodes, Ordering, Queues, Running, Snapshot, Users
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round
from tests.amounts import vector
from tests.backfill_reference import Job
from wire.resources import AXES

R = len(AXES)
CORE = vector(0, 1000)[None]
_MANY = np.int64(1) << 50


@dataclass
class Replay:
    """free: (n,) cores. held: number of a job -> its nodes, one entry per container. ends: expected, by job."""

    jobs: list[Job]
    cores: np.ndarray
    rule: Backfill
    policy: RoundPolicy
    free: np.ndarray = field(init=False)
    waiting: list[int] = field(default_factory=list)
    held: dict[int, np.ndarray] = field(default_factory=dict)
    ends: dict[int, float] = field(default_factory=dict)
    memo: Memo = field(default_factory=Memo)

    def __post_init__(self) -> None:
        self.free = self.cores.copy()

    def snapshot(self) -> Snapshot:
        rows, n = np.array(self.waiting, np.int64), len(self.cores)
        asked = [self.jobs[j] for j in self.waiting]
        a, none = len(rows), np.empty(0, np.int32)
        used = CORE * int(self.cores.sum() - self.free.sum())
        asks = Asks(
            rows, np.array([j.processors for j in asked], np.int64), np.arange(a, dtype=np.int32),
            np.zeros(a, np.int32), np.zeros(a, np.int32), np.array([j.arrives for j in asked]), np.ones(a, np.bool_),
            np.full(a, -1, np.int8), np.zeros(a + 1, np.int32), none, np.zeros(a + 1, np.int32), none,
            np.array([j.estimate for j in asked]), CORE, np.ones((1, n), np.bool_),
        )  # fmt: skip
        queues = Queues(
            ["root", "root.batch"], np.array([-1, 0], np.int32), np.zeros((2, R), np.int64), np.full((2, R), _MANY),
            np.concatenate((used, used)), np.ones(2), np.full(2, Ordering.FIFO, np.int8), np.ones(2, np.bool_),
            backfill=np.full(2, self.rule, np.int8),
        )  # fmt: skip
        users = Users(np.ones(1, np.int32), used, np.full((1, R), _MANY))
        jobs = Jobs(np.zeros(a, np.int32), np.zeros(a, np.int32), np.zeros((a, R), np.int64))
        nodes = Nodes(
            self.cores[:, None] * CORE, self.free[:, None] * CORE, np.ones(n, np.bool_), np.zeros(n, np.int32)
        )
        return Snapshot(AXES, nodes, queues, users, jobs, asks, self._running(), reclaim=False)

    def _running(self) -> Running:
        node = np.concatenate([np.empty(0, np.int64), *self.held.values()]).astype(np.int32)
        ends = np.repeat([self.ends[j] for j in self.held], [len(x) for x in self.held.values()])
        c = len(node)
        return Running(
            np.arange(c, dtype=np.int64), node, np.full(c, -1, np.int32), np.ones(c, np.int32), np.zeros(c, np.int32),
            np.repeat(CORE, c, axis=0), np.zeros(c), ends.astype(np.float64), np.zeros(c, np.bool_),
        )  # fmt: skip

    def round(self, now: float) -> list[int]:
        """Plan, and start what was placed: the numbers of those jobs."""
        s = self.snapshot()
        plan, self.memo = plan_round(s, self.memo, self.policy, now)
        check_plan(s, plan)
        started = []
        for ask in np.unique(plan.place.ask).tolist():
            number = self.waiting[ask]
            nodes = plan.place.node[plan.place.ask == ask].astype(np.int64)
            np.subtract.at(self.free, nodes, 1)
            self.held[number], self.ends[number] = nodes, now + self.jobs[number].estimate
            started.append(number)
        self.waiting = [number for number in self.waiting if number not in self.held]
        return started

    def end(self, number: int) -> None:
        np.add.at(self.free, self.held.pop(number), 1)
        del self.ends[number]


def replay(jobs: list[Job], processors: int, rule: Backfill, nodes: int, depth: int = 1000) -> list[float]:
    """When each job starts. nodes: of so many that share the processors evenly."""
    promises = rule in (Backfill.EASY, Backfill.CONSERVATIVE)  # then nobody holds nodes, whatever the policy says
    policy = RoundPolicy(PlacementPolicy(reserve_max_node_share=0.05 if promises else 0.0, backfill_depth=depth))
    machine = Replay(jobs, np.full(nodes, processors // nodes, np.int64), rule, policy)
    starts = [-1.0] * len(jobs)
    events: list[tuple[float, int, int]] = []
    for number, job in enumerate(jobs):
        heappush(events, (job.arrives, 1, number))
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, arrival, number = heappop(events)
            if arrival:
                machine.waiting.append(number)
            else:
                machine.end(number)
        for number in machine.round(now) if machine.waiting else []:
            starts[number] = now
            heappush(events, (now + jobs[number].runs, 0, number))
    return starts
