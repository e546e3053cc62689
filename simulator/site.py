"""One simulated sub-cluster: its simulated nodes, its leader, and when something next happens there.

The leader is the round driver as it runs in production; what ``rm.leader``
does around it with threads and sleeps is done here with moments.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.driver.load import LoadReporter
from controlplane.rm.driver.rebuild import rebuild
from controlplane.rm.driver.round import Duties, Round, RoundReport, RoundSettings
from simulator.bus import NoSigner, SimulatedBus, SimulatedRedis, read
from simulator.clock import VirtualClock
from simulator.noreasons import NoReasonReporter
from simulator.rows import Federation
from simulator.simulatednodes import RunTimes, SimulatedNodes
from simulator.store import SimulatedStore
from wire.states import NodeState, terminal

NEVER = float("inf")
_LOG_BYTES = 1 << 20
_LEASE_S = 10.0**9
_IDLE_BACKOFF_MAX_S = 60.0
_SERVICE_CHECK_S = 1.0
_LOST, _REGISTERED, _UNHEALTHY = int(NodeState.LOST), int(NodeState.REGISTERED), int(NodeState.UNHEALTHY)


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations in s. What is smaller costs more of the machine's time.

    interval_s: at least this passes between two rounds of a leader. idle_s:
    so long nobody looks at what has ended while nobody waits for anything.
    network_s: one way between a leader and a node. heartbeat_s: how often a
    node says what need not be said at once, such as a start; 0: with the next
    thing that must be. load_s: between two loads that a leader tells, and at
    least between two looks of the GPG at them.
    node_lost_s: after so long a silence a node is lost. timed_s: between two
    rounds before which nothing has happened but that time has passed.
    patience_s: the longer nothing happens, the longer until somebody looks
    again at what waits, up to this; 0: as often as leaders do.
    """

    interval_s: float = 0.1
    idle_s: float = 0.1
    network_s: float = 0.0
    heartbeat_s: float = 1.0
    load_s: float = 1.0
    node_lost_s: float = 8.0
    timed_s: float = 0.0
    patience_s: float = 0.0


class Site:
    """nodes: their rows are their positions in the leader's memory. next_s: when its leader has something to do."""

    def __init__(
        self,
        rows: Federation,
        sub: int,
        clock: VirtualClock,
        pace: Pace,
        runs: RunTimes,
        redis: Mapping[int, SimulatedRedis],
        hint: Callable[[Iterable[int]], None],
        on_commit: Callable[[int, Changes], None],
        on_room_freed: Callable[[int], None],
        check: bool = False,
    ):
        """on_room_freed: called with this sub-cluster when it tells that there is more room than it told before."""
        self.rows, self.sub, self.clock, self.pace, self.runs, self.check = rows, sub, clock, pace, runs, check
        self.own, self.redis, self.hint, self.on_commit, self.on_room_freed = (
            rows.subs[sub],
            redis,
            hint,
            on_commit,
            on_room_freed,
        )
        self.nodes = SimulatedNodes()
        self.nodes.set_nodes(list(self.own.nodes))
        self.row = {node: at for at, node in enumerate(self.own.nodes)}
        self.silent = np.zeros(len(self.row), np.bool_)
        self.lost_at: dict[int, float] = {}  # silent nodes: when they will be given up
        self.report_due = np.zeros(len(self.row), np.bool_)  # nodes whose next status is not urgent
        self.report_due_at = NEVER
        self.hinted = True
        self.last_s, self.next_s, self.loaded_s, self.rounds = -NEVER, 0.0, -NEVER, 0
        self.has_leader, self.quiet = False, 0  # rounds in a row that changed nothing
        self.leaves = False  # some nodes are to be emptied, as its leader saw them last
        self.load_changed = False  # whether something has changed since a load was told
        self.lead()

    def lead(self) -> None:
        """A new leader takes over, from the rows alone."""
        lease = self.own.lease
        lease.epoch, lease.holder = lease.epoch + 1, "simulated"
        self.store = SimulatedStore(self.rows, self.sub, lease.epoch, self.on_commit)
        self.bus = SimulatedBus(self.redis, self.sub, lease.epoch, self.clock, self.hint)
        self.memory = rebuild(self.store, _LOG_BYTES, self.clock.now)
        settings = RoundSettings(_LOG_BYTES, _LEASE_S, self.check)
        self.round = Round(self.sub, self.memory, self.store, self.bus, self.clock, NoSigner(), settings)  # type: ignore[arg-type]
        self.round.planner.reporter = NoReasonReporter()
        self.load = LoadReporter()
        self.report_due[:], self.report_due_at, self.hinted, self.has_leader = True, self.clock.now, True, True

    # What happens to nodes

    def fail(self, node: int) -> None:
        """The node is gone with all that runs on it."""
        row = self.row[node]
        self.silent[row] = True
        self.lost_at[row] = self.clock.now + self.pace.node_lost_s
        self.nodes.containers.clear(row)

    def repair(self, node: int) -> None:
        """The node is back, empty."""
        row = self.row[node]
        self.silent[row] = False
        self.lost_at.pop(row, None)
        self.nodes.restart(np.array([row]), int(self.nodes.head["seq"][row]))
        self.report_due[row], self.report_due_at = True, self.clock.now

    # Its leader

    def due_s(self) -> float:
        """When something is next to be done here; endless when nothing is."""
        m, now, pace = self.memory, self.clock.now, self.pace
        if not self.has_leader:
            return NEVER
        busy = self.hinted or m.placeable or self.round.more_intents or bool(m.dirty_nodes or m.republish)
        if busy:
            return max(now, self.last_s + pace.interval_s)
        news = min(self.nodes.containers.next_due() + pace.network_s, self.report_due_at)
        due = self.round.next_due_s()
        timed = NEVER if due is None else max(now + due, self.last_s + pace.timed_s)
        if not self.own.containers:  # nothing ends here; who waits, waits for time to pass
            timed = max(timed, self.last_s + min(_IDLE_BACKOFF_MAX_S, pace.interval_s * 2.0 ** min(self.quiet, 20)))
        load = self.loaded_s + pace.load_s if self.load_changed and len(self.rows.subs) > 1 else NEVER
        if not self._waits():
            news, timed, load = self._batched(news), self._batched(timed), self._batched(load)
        lost = min(self.lost_at.values(), default=NEVER)
        return max(now, min(max(min(news, timed, load), self.last_s + pace.interval_s), lost))

    def proxy_check_s(self) -> float:
        """When its leader may look next whether others have room for what waits here; endless if nothing does."""
        if not self.has_leader or not self._waits():
            return NEVER
        return self.clock.now + self.round.proxy.next_s - self.clock.now_us() / 1e6

    def schedule_by(self, at_s: float) -> None:
        """Something has happened elsewhere that its leader, which looks now and then, would see by ``at_s``."""
        self.next_s = min(self.next_s, max(self.clock.now, at_s, self.last_s + self.pace.interval_s))

    def service_check_s(self) -> float:
        """When its leader may look next whether services that are to leave serve elsewhere; endless if none is to."""
        at_s, m = self.last_s + _SERVICE_CHECK_S, self.memory
        if not self.leaves or not self.has_leader or self.next_s <= at_s:
            return NEVER
        stays = any(group.run.service and group.slots for job in m.jobs.values() for group in job.groups)
        return at_s if stays else NEVER

    def _batched(self, at: float) -> float:
        """When what happens at ``at`` and can wait is looked at, with what else has happened by then."""
        return max(at, self.last_s) + self.pace.idle_s

    def _waits(self) -> bool:
        """Whether somebody would start if there were room, or goes on when something ends."""
        m = self.memory
        return bool(m.admission_queue) or bool(m.backing_off) or bool(self.round.planner.reporter.waiting.any())

    def step(self) -> RoundReport | None:
        """A round at the clock's time, and what follows at the nodes."""
        now = self.clock.now
        rows = self._reports(now)
        m = self.memory
        duties = Duties([m.nodes.index[node] for node in self.nodes.ids[rows].tolist()], intents=self.hinted)
        duties.intents |= self.round.more_intents
        gone = [row for row, at in self.lost_at.items() if at <= now]
        if gone:
            duties.lost = np.array([m.nodes.index[int(self.nodes.ids[row])] for row in gone], np.int64)
            for row in gone:
                del self.lost_at[row]
        self.hinted = False
        m.shares.refresh(self.store, self.clock)
        report = self.round.run(duties, now)
        self.quiet = 0 if report.committed else self.quiet + 1
        if self.quiet > 1 and self.pace.patience_s:
            longer_s = min(self.pace.patience_s, 2.0 ** min(self.quiet - 1, 20))
            self.round.planner.postpone(self.clock.now_us() / 1e6 + longer_s)
        self.load_changed |= report.committed
        self.last_s = now
        self.rounds += 1
        self.leaves = bool(m.nodes.leaving[: len(m.nodes)].any())
        self._deliver(now)
        self._repeat_unknown(now)
        self._republish(now)
        self._report_load(now)
        return report

    def _repeat_unknown(self, now: float) -> None:
        """Nodes that report and are not believed to be up say so again with their next heartbeat."""
        state = self.memory.nodes.state[: len(self.silent)]
        unknown = ((state == _LOST) | (state == _REGISTERED)) & ~self.silent
        if unknown.any():
            self.report_due |= unknown
            self.report_due_at = min(self.report_due_at, now + (self.pace.heartbeat_s or 1.0))

    def _republish(self, now: float) -> None:
        """What a node that was silent did not get is put again after two heartbeats, as leaders do with what nobody
        echoes."""
        n, size, head = self.memory.nodes, len(self.silent), self.nodes.head
        missed = (head["epoch"] != self.memory.epoch) | (head["generation"] != n.generation[:size])
        missed &= ~self.silent & (n.state[:size] <= _UNHEALTHY)
        if missed.any():
            due = n.published[:size] + 2 * (self.pace.heartbeat_s or 1.0)
            self.memory.republish.update(np.flatnonzero(missed & (due <= now)).tolist())
            self.report_due_at = min(self.report_due_at, max(now, float(due[missed].min())))

    def _reports(self, now: float) -> np.ndarray:
        """Nodes whose statuses reach the leader by now: their rows, rising."""
        ended = self.nodes.containers.end_due(now - self.pace.network_s)
        speak = np.zeros(len(self.row), np.bool_)
        speak[ended] = True
        if self.report_due_at <= now:
            speak |= self.report_due
            self.report_due_at = NEVER
        speak &= ~self.silent
        rows = np.flatnonzero(speak)
        self.report_due[rows] = False
        if len(rows):
            bodies = self.nodes.statuses(rows, now - self.pace.network_s)
            self.bus.own.report(dict(zip(self.nodes.ids[rows].tolist(), bodies, strict=True)), hint=False)
        return rows

    def _deliver(self, now: float) -> None:
        """The documents of this round reach their nodes."""
        desired = self.bus.own.take_woken()
        self.bus.own.templates.clear()  # simulated nodes need none
        rows = np.array([self.row[node] for node in desired], np.int64)
        reachable = ~self.silent[rows]
        if not reachable.any():
            return
        bodies = [body for body, ok in zip(desired.values(), reachable.tolist(), strict=True) if ok]
        at = now + self.pace.network_s
        applied = self.nodes.apply(read(bodies, rows[reachable]), self.runs, at, self.clock.wall_s)
        if len(applied.news):
            self.report_due[applied.news] = True
            self.report_due_at = min(self.report_due_at, at + self.pace.heartbeat_s)

    def _report_load(self, now: float) -> None:
        if now - self.loaded_s < self.pace.load_s:
            return
        self.loaded_s, self.load_changed, before = now, False, self.own.load
        self.load.report(self.memory, self.sub, self.store, self.clock)
        load = self.own.load
        if load is not None and before is not None and (load.free > before.free).any():
            self.on_room_freed(self.sub)

    @property
    def idle(self) -> bool:
        """Whether nothing lives here, so that nothing more will happen by itself."""
        return (
            not self.own.containers
            and not self.own.intents
            and not any(not terminal(job.run.state) for job in self.memory.jobs.values())
        )

    @property
    def capacity(self) -> tuple[int, ...]:
        """What its nodes have that are not lost, along the axis of resources."""
        return self.own.capacity()
