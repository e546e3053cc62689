"""Leading one sub-cluster: wait for news, run rounds, keep the lease, watch the nodes."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import structlog

from controlplane.rm.driver import epochs, liveness
from controlplane.rm.driver import summary as screens
from controlplane.rm.driver.acknowledge import Acknowledger
from controlplane.rm.driver.emptying import Emptying
from controlplane.rm.driver.load import LoadReporter
from controlplane.rm.driver.round import Duties, Round, RoundReport
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Bus, BusDown, Clock, Outdated, Store
from wire import keys
from wire.states import NodeState

log = structlog.get_logger(__name__)
SWEEP_NODES = 500  # a bound on what one round reads, and so on how long it takes
SEEN_SHARE = 0.9  # of a heartbeat: a node that was heard later than that ago is not looked at again
_LOST_CHECK_S = 0.25
_SUMMARY_S = 0.25
_RATES_S = 10.0
_SUMMARY_IDLE_S = 4.0
_SUMMARY_REST = 50  # times what the last one took until the next
_SUMMARY_MOST_S = 4.0
_USAGE_REST = 200  # the same of the containers' last samples
_USAGE_MOST_S = 30.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations of the loop, in seconds."""

    heartbeat_s: float = 1.0
    interval_s: float = 0.1  # at most this passes between rounds under load
    renew_s: float = 0.8
    node_lost_s: float = 8.0
    max_disconnect_s: float = 600.0


@dataclass(slots=True)
class Timers:
    """Monotonic times of what was done last."""

    sweep: float = -1e9
    renew: float = -1e9
    lost_check: float = -1e9
    summary: float = -1e9
    summary_took: float = 0.0
    usage: float = -1e9
    usage_took: float = 0.0
    round_began: float = -1e9
    round_took: float = 0.0


@dataclass(slots=True)
class Counters:
    rounds: int = 0
    placed: int = 0
    ended: int = 0
    rejected: int = 0
    round_ms: int = 0

    def add(self, report: RoundReport, took_s: float) -> None:
        self.rounds += report.committed
        self.placed += report.placed
        self.ended += report.ended
        self.rejected += report.rejected
        self.round_ms = round(took_s * 1000)


@dataclass(slots=True)
class Rates:
    """What the counters gained per second, over about ``_RATES_S``."""

    seen: deque[tuple[float, int, int, int]] = field(default_factory=deque)  # monotonic s; rounds, placed, ended

    def per_s(self, now: float, c: Counters) -> dict[str, float]:
        """For the summary; nothing before there are two looks to compare."""
        while len(self.seen) > 1 and self.seen[1][0] <= now - _RATES_S:
            self.seen.popleft()
        self.seen.append((now, c.rounds, c.placed, c.ended))
        began, *before = self.seen[0]
        if now - began < 1.0:
            return {}
        gained = (after - at for after, at in zip((c.rounds, c.placed, c.ended), before, strict=True))
        names = ("rounds_per_s", "placed_per_s", "ended_per_s")
        return {name: round(n / (now - began), 2) for name, n in zip(names, gained, strict=True)}


@dataclass(slots=True)
class Leader:
    """The loop. ``announce``: called with jobs that screens should look at again, and whose they are. ``planned``: with
    the processor's seconds that a round's planning took. ``step_aside``: whether it may lead anew for nodes' sake."""

    round: Round
    memory: Memory
    store: Store
    bus: Bus
    clock: Clock
    holder: str
    pace: Pace
    announce: Callable[[dict[int, int]], None]
    answered: liveness.AnsweredClock
    acknowledger: Acknowledger = field(default_factory=Acknowledger)
    planned: Callable[[float], None] = lambda _: None
    step_aside: Callable[[], bool] = lambda: True
    emptying: Emptying = field(default_factory=lambda: Emptying(lambda: 0))
    timers: Timers = field(default_factory=Timers)
    counters: Counters = field(default_factory=Counters)
    rates: Rates = field(default_factory=Rates)
    frozen: bool = False
    writable: bool = True  # whether Redis took the last write that asked for nothing else
    news: bool = True  # something happened since the last summary
    changed_jobs: dict[int, int] = field(default_factory=dict)  # jobs that screens are to look at, and whose they are
    shown_version: int = -1  # policy version in the last summary
    load: LoadReporter = field(default_factory=LoadReporter)
    swept: int = 0  # position of the first node of the next slice

    def run(self, over: Callable[[], bool]) -> None:
        """Lead until ``over`` says so; raises ``Fenced``, ``Outdated`` or ``StoreDown`` when it cannot go on."""
        self.begin()
        while not over():
            self.turn(self._wait())

    def begin(self) -> None:
        """The first round."""
        self._take_shares(hinted=True)
        self._round(Duties(intents=True))

    def turn(self, woken: set[str]) -> None:
        """All that is due now. woken: who has news."""
        # Every step may wait a while for a Redis that does not answer; the lease must outlast their sum.
        self._renew()
        self._take_shares(keys.SHARES in woken)
        duties = self._duties(woken)
        if self._due(duties):
            self._round(duties)
        self.acknowledger.report(self.memory, self.store, self.bus, self.clock)
        self._renew()
        self._publish_summary()
        self.load.report(self.memory, self.round.sub, self.store, self.clock)
        self.emptying.look(self.memory, self.clock)
        self._renew()

    def _wait(self) -> set[str]:
        """Sleep until there is news or a duty falls due."""
        now = self.clock.monotonic()
        # Under load rounds grow rather than multiply: a pause of three times the last one's length.
        earliest = self.timers.round_began + min(self.pace.interval_s, 3 * self.timers.round_took)
        if earliest > now:
            self._sleep(earliest - now)
        wake = min(self.timers.sweep + self._sweep_every_s() - self.clock.monotonic(), 0.5, self._due_s())
        wake = min(wake, self.acknowledger.due_s(self.memory, self.clock))
        if self.memory.placeable or self.round.more_intents or wake <= 0:
            wake = 0.001
        try:
            return self.bus.wait(wake)
        except BusDown as error:
            log.warning("redis cannot be reached", error=str(error))
            self._sleep(min(0.2, max(0.01, wake)))
            return set()

    def _duties(self, woken: set[str]) -> Duties:
        now = self.clock.monotonic()
        duties = Duties(intents=keys.INTENTS in woken or self.round.more_intents)
        index = self.memory.nodes.index
        found = (index.get(int(w)) for w in woken if w.isdecimal() and len(w) < 19)
        duties.statuses = sorted(at for at in found if at is not None)
        if now - self.timers.sweep >= self._sweep_every_s():
            self._sweep(duties, now)
        if now - self.timers.lost_check >= min(_LOST_CHECK_S, self.pace.heartbeat_s):
            self.timers.lost_check = now
            self._look_for_later_epochs()
            self._find_lost(duties)
        return duties

    def _sweep_every_s(self) -> float:
        """Between two slices of the nodes, so that all are looked at once a heartbeat."""
        return self.pace.heartbeat_s / max(1.0, len(self.memory.nodes) / SWEEP_NODES)

    def _sweep(self, duties: Duties, now: float) -> None:
        """Look at the next slice of nodes, whether or not a hint came; after the last one at everything else."""
        self.timers.sweep = now
        first, size = self.swept, len(self.memory.nodes)
        # Who said something a moment ago has nothing new to say before its next heartbeat.
        unheard = self.answered.by(now) - self.memory.nodes.seen[first : min(first + SWEEP_NODES, size)]
        recent_s = SEEN_SHARE * min(self.pace.heartbeat_s, liveness.LONGEST_STEP_S)
        silent = first + np.flatnonzero((unheard >= recent_s) | (not self.answered.started))
        duties.statuses = sorted({*duties.statuses, *silent.tolist()})
        self.swept = first + SWEEP_NODES
        if self.swept >= size:
            self.swept, duties.intents = 0, True
            self._republish(now)

    def _republish(self, now: float) -> None:
        """Documents that have not been echoed within two heartbeats."""
        n, size = self.memory.nodes, len(self.memory.nodes)
        unheard = (n.echo_epoch[:size] != self.memory.epoch) | (n.echo_generation[:size] != n.generation[:size])
        unheard &= (n.state[:size] <= NodeState.UNHEALTHY) & (now - n.published[:size] > 2 * self.pace.heartbeat_s)
        self.memory.republish.update(np.flatnonzero(unheard).tolist())

    def _due(self, duties: Duties) -> bool:
        m = self.memory
        return bool(
            duties.statuses or duties.intents or len(duties.lost) or m.placeable or m.dirty_nodes or m.republish
            or self._due_s() <= 0
        )  # fmt: skip

    def _due_s(self) -> float:
        """Seconds until a round is due although nothing has happened here; endless without one."""
        due, look = self.round.next_due_s(), self.round.proxy.look_s() - self.clock.now_us() / 1e6
        return min(look, np.inf if due is None else due)

    def _round(self, duties: Duties) -> None:
        began = self.timers.round_began = self.clock.monotonic()
        try:
            report = self.round.run(duties, self.answered.by(began))
            if duties.statuses and self._writable():
                self.answered.answered(self.clock.monotonic())
        except BusDown as error:
            log.warning("redis cannot be reached", error=str(error))
            self._sleep(0.05)
            return
        self.timers.round_took = self.clock.monotonic() - began
        self.planned(report.plan_cpu_s)
        if report.committed:
            self.timers.renew = self.clock.monotonic()
            self.counters.add(report, self.timers.round_took)
            self.news = True
        self.counters.rejected += 0 if report.committed else report.rejected
        self.changed_jobs |= report.jobs

    def _writable(self) -> bool:
        """Whether Redis takes writes. While it does not, no node can say anything, and so none is silent."""
        try:
            self.bus.probe()
        except BusDown as error:
            if self.writable:
                log.error("redis takes no writes: until it does, no node counts as silent", error=str(error))
            self.writable = False
        else:
            if not self.writable:
                log.info("redis takes writes again")
            self.writable = True
        return self.writable

    def _sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    def _look_for_later_epochs(self) -> None:
        """Nodes that obey a leader of a higher epoch do nothing that we say; our successor will have a higher one."""
        n, size = self.memory.nodes, len(self.memory.nodes)
        above = n.echo_epoch[:size] > self.memory.epoch
        if not above.any():
            return
        told = n.echo_epoch[:size][n.state[:size] < NodeState.DECOMMISSIONED]
        found = epochs.believed(self.memory.epoch, told)
        if found > self.memory.epoch and self.step_aside():
            names = [n.rows[at].name for at in np.flatnonzero(above)[:10].tolist()]
            raise Outdated(f"nodes {', '.join(names)} obey epoch {found}, above this leader's {self.memory.epoch}")

    def _find_lost(self, duties: Duties) -> None:
        """Which nodes are lost; those that report in this very round are not."""
        n, size = self.memory.nodes, len(self.memory.nodes)
        pace = self.pace
        certain_s = pace.max_disconnect_s + pace.node_lost_s
        lost, frozen = liveness.lost_nodes(
            n.state[:size], n.seen[:size], self.answered.now, pace.node_lost_s, certain_s
        )
        duties.lost = lost
        duties.statuses = sorted({*duties.statuses, *lost.tolist()})  # a last look: one may have come since the sweep
        if frozen != self.frozen:
            self.frozen = self.round.planner.frozen = frozen
            self.news = True
            log.error("most nodes fell silent together: frozen") if frozen else log.info("nodes answer again")
        if len(lost):
            log.warning("nodes lost", nodes=[n.rows[at].name for at in lost.tolist()])

    def _take_shares(self, hinted: bool) -> None:
        """What the GPG assigned; with other shares somebody who waits may be owed room."""
        m = self.memory
        if m.shares.refresh(self.store, self.clock, hinted):
            m.placeable = self.news = True

    def _renew(self) -> None:
        now = self.clock.monotonic()
        if now - self.timers.renew >= self.pace.renew_s:
            self.store.renew()
            self.timers.renew = now

    def _publish_summary(self) -> None:
        """Tell screens, at most four times a second and once in a while when nothing happens."""
        now = self.clock.monotonic()
        # Many leaders share a host, and screens show tens of thousands of rows: little of a leader's time goes there.
        least = min(_SUMMARY_MOST_S, max(_SUMMARY_S, _SUMMARY_REST * self.timers.summary_took))
        m = self.memory
        pushed = self.shown_version != m.queues.target  # somebody looks at the screen for it
        if not pushed and now - self.timers.summary < (least if self.news else max(least, _SUMMARY_IDLE_S)):
            return
        self.timers.summary, self.news, self.shown_version = now, False, m.queues.target
        counters = {name: getattr(self.counters, name) for name in Counters.__slots__}
        numbers = counters | self.rates.per_s(now, self.counters)
        at = self.clock.now_us() / 1e6
        body = screens.summary(m, self.holder, numbers, self.frozen, at)
        nodes = screens.nodes(m, at, self.answered.now)
        usage_rest = min(_USAGE_MOST_S, _USAGE_REST * self.timers.usage_took)
        usage = screens.usage(m) if now - self.timers.usage >= usage_rest else {}
        changed_jobs, self.changed_jobs = self.changed_jobs, {}
        try:
            self.bus.summary(body, nodes, usage)
        except BusDown:
            return
        took = self.clock.monotonic() - now
        if usage:
            self.timers.usage, self.timers.usage_took = now, took
        else:
            self.timers.summary_took = took
        self.announce(changed_jobs)
