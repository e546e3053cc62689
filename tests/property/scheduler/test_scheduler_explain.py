"""What is said of a waiting ask against a slow reference: limits bind, changes start it, and less would not."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.plan import Why
from scheduler.core.snapshot import Memo, Running, Snapshot
from scheduler.explain.columns import Explanation, explain_all
from scheduler.explain.estimate import estimate
from scheduler.explain.forecast import Forecast
from scheduler.explain.limits import binding, situation_of
from scheduler.explain.sentence import AskContext, describe
from tests.examples import examples
from tests.worlds import R, snapshots

EXAMPLES = examples(100)
NOW = 0.0


@dataclass
class Patience:
    node_wait_s: float = 3.0
    rack_wait_s: float = 3.0
    node_misses: int = 0
    rack_misses: int = 0


@dataclass
class Left:
    """A round that a reference played, and what it left."""

    s: Snapshot
    memo: Memo
    free: np.ndarray
    left: np.ndarray
    why: np.ndarray
    order: np.ndarray
    room_queue: np.ndarray
    room_user: np.ndarray
    promised: None = None

    def __init__(self, s: Snapshot, reserved: dict[int, int]):
        """reserved: node -> the ask that holds it."""
        self.s, self.free, self.left = s, s.nodes.free.copy(), s.asks.count.copy()
        self.why = np.zeros(len(self.left), np.int8)
        self.order = np.argsort(-s.jobs.priority[s.asks.job], kind="stable").astype(np.int32)
        self.room_queue, self.room_user = s.queues.maximum - s.queues.used, s.users.maximum - s.users.used
        nodes = sorted(reserved)
        keys = s.asks.key[[reserved[x] for x in nodes]]
        self.memo = replace(Memo(), reserved=keys.astype(np.int64), reserved_node=np.array(nodes, np.int64))
        self.holder = {x: int(s.asks.key[a]) for x, a in reserved.items()}
        for ask in self.order.tolist():
            self._serve(ask)

    def above(self, ask: int) -> list[int]:
        found, queue = [], int(self.s.ask_queue[ask])
        while queue >= 0:
            found.append(queue)
            queue = int(self.s.queues.parent[queue])
        return found

    def rooms(self, ask: int) -> list[np.ndarray]:
        """Of the queues from the leaf up, then of the user."""
        return [*(self.room_queue[q] for q in self.above(ask)), self.room_user[self.s.jobs.user[self.s.asks.job[ask]]]]

    def nodes(self, ask: int, mask: np.ndarray | None = None, held: bool = False) -> list[int]:
        mask = self.s.asks.masks[self.s.asks.mask[ask]] if mask is None else mask
        own = int(self.s.asks.key[ask])
        return [
            x for x in range(len(mask))
            if mask[x] and self.s.nodes.open[x] and (held or self.holder.get(x, own) == own)
        ]  # fmt: skip

    def units(self, ask: int, nodes: list[int], shape: np.ndarray | None = None) -> int:
        shape = self.s.asks.shapes[self.s.asks.shape[ask]] if shape is None else shape
        asked = shape > 0
        return sum(int((np.maximum(self.free[x, asked], 0) // shape[asked]).min()) for x in nodes)

    def starts(self, ask: int, units: int, shape: np.ndarray, nodes: list[int], rooms: list[np.ndarray]) -> bool:
        below = all(not ((shape * units > room) & (shape > 0)).any() for room in rooms)
        return below and self.units(ask, nodes, shape) >= units

    def _serve(self, ask: int) -> None:
        shape = self.s.asks.shapes[self.s.asks.shape[ask]]
        gang = bool(self.s.asks.gang[ask])
        while self.left[ask]:
            units = int(self.left[ask]) if gang else 1
            if not self.starts(ask, units, shape, self.nodes(ask), self.rooms(ask)):
                break
            allowed = self.nodes(ask)
            if not gang and self.prefers(ask):
                allowed = [x for x in allowed if x in self.near(ask)]
                if not self.units(ask, allowed):
                    self.why[ask] = Why.LOCALITY_WAIT
                    return
            for _ in range(units):
                node = next(x for x in allowed if self.units(ask, [x]))
                self.free[node] -= shape
                self.room_queue[self.above(ask)] -= shape
                self.room_user[self.s.jobs.user[self.s.asks.job[ask]]] -= shape
                self.left[ask] -= 1
        if self.left[ask]:
            self.why[ask] = next(w for w in Why if w and w in self.binds(ask))

    def near(self, ask: int) -> list[int]:
        return self.s.asks.near[self.s.asks.near_from[ask] : self.s.asks.near_from[ask + 1]].tolist()

    def prefers(self, ask: int) -> bool:
        """Held back: it waits for one of its nodes alone, however long."""
        return bool(self.near(ask))

    def binds(self, ask: int) -> set[Why]:
        s, shape = self.s, self.s.asks.shapes[self.s.asks.shape[ask]]
        gang = bool(s.asks.gang[ask])
        units = int(self.left[ask]) if gang else 1
        over = [bool(((shape * units > room) & (shape > 0)).any()) for room in self.rooms(ask)]
        found = {Why.QUEUE_MAXIMUM} if any(over[:-1]) else set()
        found |= {Why.USER_MAXIMUM} if over[-1] else set()
        return found | self._by_nodes(ask, units, gang, shape)

    def _by_nodes(self, ask: int, units: int, gang: bool, shape: np.ndarray) -> set[Why]:
        s, asked = self.s, shape > 0
        if not s.nodes.open.any():
            return {Why.NO_NODES}
        mask = s.asks.masks[s.asks.mask[ask]]
        whole = [(s.nodes.capacity[x, asked] // shape[asked]).min() for x in range(len(mask)) if mask[x]]
        if sum(whole) < units:
            return {Why.NO_NODE_MATCHES}
        open_to_all = [x for x in self.nodes(ask, held=True) if x not in self.holder]
        fit, with_held = self.units(ask, open_to_all), self.units(ask, self.nodes(ask, held=True))
        if fit >= units:
            return {Why.LOCALITY_WAIT} if self.why[ask] == Why.LOCALITY_WAIT else set()
        if with_held >= units:
            return {Why.RESERVED}
        return {Why.GANG} if gang and fit else {Why.NO_ROOM}


@st.composite
def rounds(draw: st.DrawFn) -> Left:
    s = draw(snapshots())
    a = s.asks
    waiting = draw(st.lists(st.integers(0, len(a.key) - 1), max_size=2, unique=True)) if len(a.key) else []
    places = draw(st.permutations(range(len(s.nodes.open))))
    return Left(s, dict(zip(places, waiting, strict=False)))


def explained(x: Left) -> Explanation:
    return explain_all(x.s, x, x.memo, Patience(), NOW)


@given(rounds())
@EXAMPLES
def test_every_pending_ask_has_exactly_the_limits_that_bind(x: Left):
    e = explained(x)
    assert e.columns.ask.tolist() == [a for a in x.order.tolist() if x.left[a]]
    for row, ask in enumerate(e.columns.ask.tolist()):
        expected = x.binds(ask)
        if x.s.asks.gang[ask] and x.why[ask] in (Why.GANG, Why.RESERVED) and x.why[ask] not in expected:
            continue  # some fitted when it was looked at; others took that since
        if not expected:
            expected = {Why.ROUND_FULL}  # what was refused it for is gone: only its own node
        assert set(binding(e, row)) == expected, (ask, Why(x.why[ask]))


@given(rounds())
@EXAMPLES
def test_positions_are_those_in_the_queue(x: Left):
    e = explained(x)
    waiting = e.columns.ask.tolist()
    for row, ask in enumerate(waiting):
        before = [b for b in waiting[:row] if x.s.ask_queue[b] == x.s.ask_queue[ask]]
        jobs = {int(x.s.asks.job[b]) for b in before} - {int(x.s.asks.job[ask])}
        assert int(e.columns.jobs_ahead[row]) == len(jobs)
        assert int(e.columns.containers_ahead[row]) == int(x.left[before].sum())


@given(rounds(), st.data())
@EXAMPLES
def test_each_change_would_start_it_and_a_smaller_one_would_not(x: Left, data: st.DataObject):
    e = explained(x)
    n = len(x.s.nodes.open)
    other = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    for row, ask in enumerate(e.columns.ask.tolist()):
        told = describe(e, row, AskContext("gpu", relaxed=lambda: [("Drop the label gpu.", other)]))
        change = told["change"]
        if change["starts"]:
            assert change["what"] != "wait"
            tried(x, ask, change, other, situation_of(e, ask).units)
        elif change["what"] == "wait":
            units, shape = situation_of(e, ask).units, x.s.asks.shapes[x.s.asks.shape[ask]]
            first = binding(e, row)[0]
            assert first == Why.ROUND_FULL or not x.starts(ask, units, shape, x.nodes(ask, other), x.rooms(ask))
        assert told["code"] == told["limits"][0]["limit"]
        assert told["text"] == told["limits"][0]["text"]


def tried(x: Left, ask: int, change: dict[str, Any], other: np.ndarray, units: int) -> None:
    """Carry the change out in full, then with one unit less."""
    parts = change["changes"] if change["what"] == "several" else [change]
    assert carried_out(x, ask, parts, other, units)
    for at, part in enumerate(parts):
        for lesser in smaller(part):
            assert not carried_out(x, ask, [*parts[:at], lesser, *parts[at + 1 :]], other, units), (change, lesser)


def carried_out(x: Left, ask: int, parts: list[dict[str, Any]], other: np.ndarray, units: int) -> bool:
    axis = {name: k for k, name in enumerate(x.s.axis)}
    shape, nodes = x.s.asks.shapes[x.s.asks.shape[ask]].copy(), x.nodes(ask)
    rooms = [r.copy() for r in x.rooms(ask)]
    for part in parts:
        match part["what"]:
            case "gang":
                units = part["at_once"]
            case "nodes":
                nodes = x.nodes(ask, other)
            case "container":
                for name, amount in part["per_container_at_most"].items():
                    shape[axis[name]] = amount
            case "maximum":
                names = [f"the maximum of {x.s.queues.paths[q]}" for q in x.above(ask)]
                for one in part["raise"]:
                    at = names.index(one["of"]) if one["of"] in names else len(names)
                    for name, amount in one["by"].items():
                        rooms[at][axis[name]] += amount
    return x.starts(ask, units, shape, nodes, rooms)


def smaller(part: dict[str, Any]) -> list[dict[str, Any]]:
    """The same with one unit less of a change; a container that is changed in one resource only."""
    match part["what"]:
        case "gang":
            return [part | {"at_once": part["at_once"] + 1}]
        case "container" if len(part["per_container_at_most"]) == 1:
            ((name, amount),) = part["per_container_at_most"].items()
            return [part | {"per_container_at_most": {name: amount + 1}}]
        case "maximum":
            return [
                part | {"raise": [o | {"by": {**o["by"], name: amount - 1}} if o is one else o for o in part["raise"]]}
                for one in part["raise"]
                for name, amount in one["by"].items()
            ]
    return []


@given(rounds(), st.data())
@EXAMPLES
def test_the_estimate_is_when_released_room_reaches_it(x: Left, data: st.DataObject):
    n, q = len(x.s.nodes.open), len(x.s.queues.paths)
    if not n:
        return
    c = data.draw(st.integers(0, 8))
    draw = lambda strategy: np.array(data.draw(st.lists(strategy, min_size=c, max_size=c)))  # noqa: E731
    running = Running(
        id=np.arange(c, dtype=np.int64),
        node=draw(st.integers(0, n - 1)).astype(np.int32),
        job=np.full(c, -1, np.int32),
        queue=draw(st.integers(0, q - 1)).astype(np.int32),
        priority=np.zeros(c, np.int32),
        shape=draw(st.tuples(*[st.integers(0, 9)] * R)).astype(np.int64).reshape(c, R),
        started=np.zeros(c),
        ends=draw(st.sampled_from([1.0, 2.0, 3.5, 8.0, np.inf])).astype(np.float64),
        protected=np.zeros(c, np.bool_),
    )
    forecast = Forecast(replace(x.s, running=running), x.free, NOW)
    e = explained(x)
    for row, ask in enumerate(e.columns.ask.tolist()):
        if binding(e, row) not in ([Why.NO_ROOM], [Why.RESERVED], [Why.GANG]):
            continue
        told = estimate(e, row, situation_of(e, ask), forecast, row)
        expected = tuple(released(x, e, row, running, of_queue) for of_queue in (True, False))
        assert (told["earliest_s"], told["latest_s"]) == expected


def released(x: Left, e: Explanation, row: int, running: Running, of_queue: bool) -> float | None:
    """When as many of its containers fit as stand before it, and it."""
    ask = int(e.columns.ask[row])
    shape, free = x.s.asks.shapes[x.s.asks.shape[ask]], x.free.copy()
    before = np.zeros(R, np.int64)
    for earlier, other in enumerate(e.columns.ask[:row].tolist()):
        never = {Why.NO_NODES, Why.NO_NODE_MATCHES} & set(binding(e, earlier))
        if not never and (not of_queue or x.s.ask_queue[other] == x.s.ask_queue[ask]):
            before += x.left[other] * x.s.asks.shapes[x.s.asks.shape[other]]
    asked = shape > 0
    wanted = situation_of(e, ask).units + max(
        int(np.ceil(b / s)) for b, s in zip(before[asked], shape[asked], strict=True)
    )
    moments = [NOW, *np.unique(running.ends[np.isfinite(running.ends)]).tolist()]
    for moment in moments:
        free = x.free.copy()
        np.add.at(free, running.node[running.ends <= moment], running.shape[running.ends <= moment])
        fit = sum(int((np.maximum(free[k, asked], 0) // shape[asked]).min()) for k in x.nodes(ask))
        if fit >= wanted:
            return moment
    return None


def said(x: Left) -> list[dict[str, Any]]:
    """All that is said of a round."""
    e = explained(x)
    running = Running(*(np.empty((0, R) if name == "shape" else 0, np.int64) for name in Running.__slots__))
    forecast = Forecast(replace(x.s, running=running), x.free, NOW)
    return [describe(e, row, AskContext(), forecast) | {"all": binding(e, row)} for row in range(len(e.columns.ask))]
