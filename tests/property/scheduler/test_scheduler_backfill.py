"""Backfilling against the book (a machine of equal processors), and against what it promises (any nodes)."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.invariants import check_plan, check_reserved
from scheduler.core.plan import Plan, Why
from scheduler.core.snapshot import Backfill, Memo, Ordering, Running, Snapshot
from scheduler.placement.fills import Fill
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round
from tests import backfill_reference as book
from tests.amounts import R, amounts
from tests.backfill_replay import replay
from tests.examples import examples
from tests.worlds import Ask, Node, Queue, build, snapshots

NOW = 0.0
RULES = {
    Backfill.NONE: book.anything,
    Backfill.STRICT: book.first_come,
    Backfill.EASY: book.easy,
    Backfill.CONSERVATIVE: book.conservative,
}
EXACT, OVER, ANY = (1.0,), (1.0, 1.5, 2.0, 10.0), (0.25, 0.5, 1.0, 2.0, 5.0)


def gangs(factors: tuple[float, ...], processors: int) -> st.SearchStrategy[list[book.Job]]:
    """Jobs in order of arrival; factors: by which estimates are off."""
    rows = st.tuples(
        st.sampled_from([0, 0, 1, 2, 7]), st.integers(1, processors), st.integers(1, 20), st.sampled_from(factors)
    )  # fmt: skip

    def jobs(drawn: list[tuple[int, int, int, float]]) -> list[book.Job]:
        at = np.cumsum([row[0] for row in drawn]).tolist()
        return [
            book.Job(float(t), p, float(runs), max(1.0, float(round(runs * factor))))
            for t, (_, p, runs, factor) in zip(at, drawn, strict=True)
        ]

    return st.lists(rows, min_size=1, max_size=20).map(jobs)


# the book


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("factors", [EXACT, OVER, ANY], ids=["exact", "over", "any"])
@examples(25)
@given(st.data())
def test_jobs_start_when_the_book_says(rule: Backfill, factors: tuple[float, ...], data: st.DataObject) -> None:
    processors = data.draw(st.sampled_from([1, 2, 4, 8]))
    jobs = data.draw(gangs(factors, processors))
    nodes = data.draw(st.sampled_from([1, processors]))
    assert replay(jobs, processors, rule, nodes) == book.simulate(jobs, processors, RULES[rule])


@examples(40)
@given(gangs(EXACT, 8))
def test_with_exact_estimates_nobody_starts_later_than_in_strict_order(jobs: list[book.Job]) -> None:
    strict, kept = (replay(jobs, 8, rule, 8) for rule in (Backfill.STRICT, Backfill.CONSERVATIVE))
    assert all(a <= b for a, b in zip(kept, strict, strict=True))


# any nodes, any shapes


@st.composite
def worlds(draw: st.DrawFn, rules: tuple[Backfill, ...] = tuple(Backfill)) -> Snapshot:
    """Small sub-clusters in which something runs; estimates for most of it."""
    s = draw(snapshots())
    n, q, a = len(s.nodes.open), len(s.queues.paths), len(s.asks.key)
    c = draw(st.integers(0, 8)) if n else 0
    rows = [
        (
            draw(st.integers(0, n - 1)), draw(st.integers(0, q - 1)), draw(st.tuples(*[st.integers(0, 9)] * R)),
            draw(st.sampled_from([-3.0, 1.0, 2.0, 2.0, 5.5, np.inf])),
        )
        for _ in range(c)
    ]  # fmt: skip
    running = Running(
        id=np.arange(c, dtype=np.int64),
        node=np.array([x[0] for x in rows], np.int32),
        job=np.full(c, -1, np.int32),
        queue=np.array([x[1] for x in rows], np.int32),
        priority=np.zeros(c, np.int32),
        shape=np.array([x[2] for x in rows], np.int64).reshape(c, R),
        started=np.full(c, -10.0),
        ends=np.array([x[3] for x in rows], np.float64),
        protected=np.zeros(c, np.bool_),
        overdue=np.array([draw(st.integers(0, 5)) == 0 for _ in rows], np.bool_),
    )
    duration = np.array([draw(st.sampled_from([0.0, 0.5, 2.0, 3.0, 9.0])) for _ in range(a)], np.float64)
    backfill = np.array([draw(st.sampled_from(rules)) for _ in range(q)], np.int8)
    capacity = s.nodes.capacity.copy()  # of a node that was overfull before as well
    np.add.at(capacity, running.node, running.shape)
    return replace(
        s,
        nodes=replace(s.nodes, capacity=capacity),
        asks=replace(s.asks, duration=duration),
        queues=replace(s.queues, backfill=backfill),
        running=running,
        reclaim=draw(st.booleans()),
    )


policies = st.builds(
    lambda fill, batch, depth: RoundPolicy(PlacementPolicy(fill, batch, backfill_depth=depth, reserve_after_s=0.0)),
    st.sampled_from(list(Fill)),
    st.sampled_from([1, 4, 9, 10_000, 10_000]),
    st.sampled_from([1, 2, 100]),
)


def plan(s: Snapshot, policy: RoundPolicy, memo: Memo | None = None) -> tuple[Plan, Memo]:
    return plan_round(s, memo or Memo(), policy, NOW)


def flat(found: tuple[Plan, Memo]) -> list[Any]:
    """Everything a round says, as lists."""
    (p, memo), out = found, []
    parts = [p.place, p.preempt, p.reserve, p.outcome, memo, *([p.refused] if p.refused else [])]
    for part in parts + ([p.outcome.promised] if p.outcome and p.outcome.promised else []):
        values = [getattr(part, name) for name in part.__slots__]
        out += [x.tolist() if isinstance(x, np.ndarray) else x for x in values if isinstance(x, np.ndarray | int)]
    return out


@examples(150)
@given(worlds(), policies)
def test_every_limit_holds_whatever_the_rules(s: Snapshot, policy: RoundPolicy) -> None:
    found, memo = plan(s, policy)
    check_plan(s, found)
    check_reserved(s, found, Memo(), memo)
    again, later = plan(s, policy, memo)
    check_plan(s, again)
    check_reserved(s, again, memo, later)


@examples(100)
@given(worlds(), policies)
def test_without_a_rule_nothing_changes(s: Snapshot, policy: RoundPolicy) -> None:
    without = replace(s, queues=replace(s.queues, backfill=None))
    none = replace(s, queues=replace(s.queues, backfill=np.zeros_like(s.queues.backfill)))
    blind = replace(without, running=without.running if s.reclaim else None)
    assert flat(plan(none, policy)) == flat(plan(without, policy)) == flat(plan(blind, policy))


@examples(150)
@given(worlds((Backfill.EASY, Backfill.CONSERVATIVE)), policies)
def test_every_promise_can_be_kept_after_all_that_was_placed(s: Snapshot, policy: RoundPolicy) -> None:
    found, _ = plan(s, policy)
    ahead = found.outcome.promised if found.outcome else None
    if ahead is None:
        return
    assert len(ahead.ask) <= policy.placement.backfill_depth
    queue, gang, left = s.ask_queue, s.asks.gang, found.outcome.left
    easy = [queue[a] for a in ahead.ask.tolist() if s.queues.backfill[queue[a]] == Backfill.EASY]
    assert len(set(easy)) == len(easy), "one of each queue"
    for a, start in zip(ahead.ask.tolist(), ahead.start.tolist(), strict=True):
        assert left[a] > 0 and start >= NOW
        wanted = left[a] if gang[a] else min(left[a], could(s, found, a, 1e9)) if len(ahead.ask) == 1 else 1
        assert could(s, found, a, start) >= wanted
        earlier = [t for t in moments(s, found) if t < start]
        if len(ahead.ask) == 1 and gang[a] and earlier:
            assert could(s, found, a, max(earlier)) < wanted, "it is the earliest"
    for a, by in enumerate(ahead.kept_back_by.tolist()):
        if by >= 0:
            assert found.outcome.why[a] == Why.RESERVED and left[a] > 0 and by in ahead.ask
            assert could(s, found, a, NOW, overdue=False) > 0, "there was room"


def moments(s: Snapshot, found: Plan) -> list[float]:
    assert s.running is not None
    ends = np.maximum(s.running.ends, NOW)
    ends[s.running.overdue] = NOW
    lasting = s.asks.duration[found.place.ask]
    return [NOW, *sorted({*ends[np.isfinite(ends)].tolist(), *(NOW + lasting[lasting > 0]).tolist()})]


def could(s: Snapshot, found: Plan, a: int, when: float, overdue: bool = True) -> int:
    """Containers of an ask that nodes and maxima have room for at that time, if nothing else were promised.

    overdue: what should have ended by now has.
    """
    asks, live, queues = s.asks, s.running, s.queues
    assert live is not None
    lasts = np.where(asks.duration > 0, asks.duration, np.inf)[found.place.ask]
    there = when < NOW + lasts
    placed, nodes = found.place.ask[there], found.place.node[there]
    shapes, shape = asks.shapes[asks.shape[placed]], asks.shapes[asks.shape[a]]
    gone = ((np.maximum(live.ends, NOW) <= when) | live.overdue) & overdue
    free = s.nodes.free.copy()
    np.add.at(free, live.node[gone], live.shape[gone])
    np.subtract.at(free, nodes, shapes)
    able = s.nodes.open & asks.masks[asks.mask[a]]
    units = sum(most(free[node], shape) for node in np.flatnonzero(able).tolist())
    queue, user = int(s.ask_queue[a]), int(s.jobs.user[asks.job[a]])
    while queue >= 0:
        below = np.array([any_above(queues.parent, q, queue) for q in range(len(queues.parent))], np.bool_)
        room = queues.maximum[queue] - queues.used[queue] - shapes[below[s.ask_queue[placed]]].sum(axis=0)
        units = min(units, most(room + live.shape[gone & below[live.queue]].sum(axis=0), shape))
        queue = int(queues.parent[queue])
    own = s.jobs.user[asks.job[placed]] == user
    return min(units, most(s.users.maximum[user] - s.users.used[user] - shapes[own].sum(axis=0), shape))


def most(room: np.ndarray, shape: np.ndarray) -> int:
    return int((np.maximum(room, 0)[shape > 0] // shape[shape > 0]).min(initial=10**6))


def any_above(parent: np.ndarray, queue: int, wanted: int) -> bool:
    while queue >= 0 and queue != wanted:
        queue = int(parent[queue])
    return queue == wanted


# in the course of time


@dataclass
class Cluster:
    """One queue by arrival, exact estimates, nodes of any size. live: (when it ends, ask, node)."""

    nodes: list[Node]
    shapes: list[tuple[int, ...]]
    asks: list[Ask]
    rule: Backfill
    left: list[int] = field(default_factory=list)
    live: list[tuple[float, int, int]] = field(default_factory=list)
    memo: Memo = field(default_factory=Memo)
    promised: dict[int, float] = field(default_factory=dict)

    def round(self, now: float) -> None:
        """Plan; who is first in line keeps the start that it was promised first."""
        self.live = [x for x in self.live if x[0] > now]
        waiting = [a for a, ask in enumerate(self.asks) if ask.since <= now and self.left[a]]
        used = np.zeros((len(self.nodes), R), np.int64)
        for _, a, node in self.live:
            used[node] += self.shapes[self.asks[a].shape]
        total = tuple(used.sum(axis=0).tolist())
        rows = [replace(self.asks[a], count=self.left[a]) for a in waiting]
        nodes = [replace(x, used=tuple(u)) for x, u in zip(self.nodes, used.tolist(), strict=True)]
        queues = [Queue("root"), Queue("root.a", own=total, ordering=Ordering.FIFO, backfill=self.rule)]
        s = build(nodes, queues, rows, self.shapes)
        s = replace(
            s, asks=replace(s.asks, key=np.array(waiting, np.int64), duration=np.array([r.duration for r in rows]))
        )
        policy = RoundPolicy()
        found, self.memo = plan_round(replace(s, running=self._running(), reclaim=False), self.memo, policy, now)
        check_plan(s, found)
        for row, node in zip(found.place.ask.tolist(), found.place.node.tolist(), strict=True):
            a = waiting[row]
            self.live.append((now + self.asks[a].duration, a, node))
            self.left[a] -= 1
        ahead = found.outcome.promised if found.outcome else None
        for row, start in zip(ahead.ask.tolist(), ahead.start.tolist(), strict=True) if ahead else ():
            self._keep(waiting, row, start)
        for a, start in self.promised.items():
            assert not self.left[a] or now < start, "the promise was broken"

    def _keep(self, waiting: list[int], row: int, start: float) -> None:
        """What the first in line is promised; where all are gangs of one shape, what anybody is.

        Of other asks a part may start before it was promised, and so delay those behind them.
        """
        alike = len(self.shapes) == 1 and all(ask.gang for ask in self.asks) and self.rule == Backfill.CONSERVATIVE
        if alike or not any(self.left[a] for a in waiting[:row]):
            self.promised[waiting[row]] = min(start, self.promised.get(waiting[row], np.inf))

    def _running(self) -> Running:
        c = len(self.live)
        return Running(
            np.arange(c), np.array([x[2] for x in self.live], np.int32), np.full(c, -1, np.int32),
            np.ones(c, np.int32), np.zeros(c, np.int32),
            np.array([self.shapes[self.asks[x[1]].shape] for x in self.live], np.int64).reshape(c, R), np.zeros(c),
            np.array([x[0] for x in self.live], np.float64), np.zeros(c, np.bool_),
        )  # fmt: skip

    def play(self) -> None:
        self.left = [ask.count for ask in self.asks]
        now, last = -1.0, 0
        while any(self.left):
            coming = [ask.since for ask in self.asks] + [end for end, _, _ in self.live]
            now = min((t for t in coming if t > now), default=now)
            last += 1
            assert last < 1000, "it comes to an end"
            self.round(now)


_size = st.tuples(st.integers(2, 16), st.integers(2, 16), st.integers(0, 2)).map(lambda size: amounts(*size))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Everything fits the machine when it is empty."""
    nodes = [Node(draw(_size)) for _ in range(draw(st.integers(1, 4)))]
    kinds = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=3, unique=True))
    shapes = [amounts(m, v) for m, v in kinds]
    when_empty = [sum(most(np.array(x.capacity), np.array(shape)) for x in nodes) for shape in shapes]
    asks, gang = [], draw(st.sampled_from([st.just(True), st.booleans()]))
    for _ in range(draw(st.integers(2, 12))):
        shape = draw(st.integers(0, len(shapes) - 1))
        if when_empty[shape]:
            asks.append(
                Ask(
                    1, draw(st.integers(1, when_empty[shape])), shape, since=float(draw(st.integers(0, 12))),
                    gang=draw(gang), duration=float(draw(st.integers(1, 9))),
                )
            )  # fmt: skip
    rule = draw(st.sampled_from([Backfill.EASY, Backfill.CONSERVATIVE]))
    return Cluster(nodes, shapes, sorted(asks, key=lambda ask: ask.since), rule)


@examples(150)
@given(clusters())
def test_who_is_first_in_line_starts_no_later_than_promised(cluster: Cluster) -> None:
    cluster.play()
