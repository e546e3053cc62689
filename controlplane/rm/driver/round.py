"""A scheduling round: the heart of the system, in seven numbered steps."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.driver.rebuild import behind
from controlplane.rm.memory.jobs import GroupEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.nodes import NEVER_US
from controlplane.rm.ports import Bus, BusDown, Clock, Outdated, Store
from controlplane.rm.steps import admission, collect, drain, guests, masterevents, masters, remote, revisions, services
from controlplane.rm.steps.amrmproxy import AMRMProxy
from controlplane.rm.steps.intake import BATCH as INTENTS_PER_ROUND
from controlplane.rm.steps.intake import take_intents
from controlplane.rm.steps.outcome import apply_instructions
from controlplane.rm.steps.planning import NEVER, Planner
from controlplane.rm.steps.publish import Signer, documents, positions
from controlplane.rm.steps.rehoming import Rehoming
from scheduler.lifecycle import job as master
from wire.states import terminal

COUNTERS_EVERY_S = 1.0  # a running group's counters are written at most this often


@dataclass(slots=True)
class Duties:
    """What a round has to look at. Positions are those of the node table."""

    statuses: list[int] = field(default_factory=list)
    intents: bool = False
    lost: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(slots=True)
class RoundSettings:
    log_max_bytes: int
    container_lease_s: float
    check_invariants: bool = False


@dataclass(slots=True)
class RoundReport:
    """What a round did. ``jobs``: those that screens should look at again, and whose they are. ``plan_cpu_s``: what
    planning took of the processor."""

    committed: bool = False
    placed: int = 0
    ended: int = 0
    rejected: int = 0
    plan_cpu_s: float = 0.0
    jobs: dict[int, int] = field(default_factory=dict)


class Round:
    """Drives rounds over one memory through its three ports."""

    def __init__(self, sub: int, m: Memory, store: Store, bus: Bus, clock: Clock, signer: Signer, s: RoundSettings):
        self.sub, self.m, self.store, self.bus, self.clock = sub, m, store, bus, clock
        self.signer, self.settings = signer, s
        self.planner = Planner(sub, m, s.check_invariants)
        self.proxy, self.rehoming = AMRMProxy(sub), Rehoming(sub, m)
        self.more_intents = False  # the last round took as many as it may
        self._pending_groups: dict[tuple[int, int], GroupEntry] = m.behind
        self._caught_up = False

    def run(self, duties: Duties, answered: float) -> RoundReport:
        """One round. Raises ``Fenced``, ``StoreDown`` or ``Outdated``; the memory is worthless after any of them."""
        m, c, report = self.m, Changes(), RoundReport()
        m.round_number += 1
        c.at_us, c.number = self.clock.now_us(), m.round_number

        # 1. collect what nodes reported, and which fell silent
        self._collect(duties, c, answered, report)
        self._resume(c)
        # 2. admit new and changed jobs
        if duties.intents:
            intents = self.store.intents(INTENTS_PER_ROUND)
            c.at_us = self.clock.now_us()  # nothing is done before it was asked for
            take_intents(m, self.store, c, intents, self.settings.log_max_bytes, answered)
            self.more_intents = len(intents) >= INTENTS_PER_ROUND
            self.more_intents |= guests.take_asks(m, self.store, c, self.settings.log_max_bytes)
            self.more_intents |= remote.take_reports(m, self.store, c)
        self._rehome(c)
        admission.admit(m, self.store, c)
        self._wake_delayed(c)
        drain.evict(m, self.store, c)  # what has to leave nodes that operators empty
        services.go_on(m, self.store, c)  # tasks of services that start again one after the other
        revisions.go_on(m, self.store, c, self.settings.log_max_bytes)
        masters.enforce_deadlines(m, c)  # grants that nobody used
        self._span(c)
        # 3. - 5. shares, placement, reclaiming: the pure plan, applied to the memory
        began, spent_s = self.clock.monotonic(), self.clock.processor_s()
        # What an outdated memory takes for waiting here may be elsewhere by now: the rebuilt one plans.
        if not m.outdated and self.planner.due(c.at_us / 1e6):
            self.planner.run(c)
        self.planner.report(c.at_us / 1e6)
        masterevents.emit(m, c)
        c.plan_us = int((self.clock.monotonic() - began) * 1e6)
        report.plan_cpu_s = self.clock.processor_s() - spent_s
        self.planner.explained = guests.separate(m, c, self.planner.explained)
        # 6. commit everything in one transaction, fenced by this leader's epoch
        self._gather(c)
        if c:
            self.store.commit(c)
            report.committed = True
            masterevents.announce(self.bus, c)
            self._wake(c)
        # 7. publish desired state to the nodes that changed
        self._publish()
        self._catch_up()
        if m.outdated:
            raise Outdated("jobs of another sub-cluster have moved here")
        report.placed, report.ended = c.placed, c.ended_count
        known = {job: m.jobs.get(job) for job, _ in c.groups} | c.jobs
        report.jobs = {job: entry.owner for job, entry in known.items() if entry is not None}
        return report

    def _collect(self, duties: Duties, c: Changes, answered: float, report: RoundReport) -> None:
        if duties.statuses:
            payloads = self.bus.statuses(self.m.nodes.id[duties.statuses].tolist())
            report.rejected = collect.take_statuses(self.m, self.store, c, duties.statuses, payloads, answered)
        silent = duties.lost[self.m.nodes.seen[duties.lost] < answered]  # and did not report just now
        collect.lose(self.m, self.store, c, silent)

    def _resume(self, c: Changes) -> None:
        """End jobs of which a former leader has stopped everything, and perhaps taken back what waited elsewhere."""
        for job in self.m.resumed:
            apply_instructions(self.m, c, job, master.resumed(job.run))
        self.m.resumed = []

    def _wake_delayed(self, c: Changes) -> None:
        now = c.at_us / 1e6
        for key, group in list(self.m.backing_off.items()):
            if group.run.wake(now):
                self.m.placeable = True
                self.m.stale.add(key)
            if not group.run.backing_off:
                del self.m.backing_off[key]

    def _rehome(self, c: Changes) -> None:
        """Let jobs that no node here could hold go where one could."""
        if not self.m.outdated:
            self.rehoming.run(self.store, c, self.clock, self.proxy.remotes)

    def _span(self, c: Changes) -> None:
        """Let other sub-clusters start what they should."""
        self.m.refresh(_touched(c), c.at_us / 1e6)
        self.proxy.run(self.m, self.store, c)

    def next_due_s(self) -> float | None:
        """Seconds until a delayed start or the next look at what waits falls due; None without one."""
        if self.planner.reporter.more:
            return 0.0
        due = [group.run.next_due for group in self.m.backing_off.values() if group.run.next_due is not None]
        if self.m.restarting:
            due.append(self.m.restarts_due_us / 1e6)
        due += [job.rollout.due_us / 1e6 for job in self.m.rolling.values() if job.rollout and job.rollout.limited]
        now_us = self.clock.now_us()
        earliest = min(
            [
                self.planner.again_at,
                self.proxy.due_s(),
                self.rehoming.due_s(),
                self.m.admission_queue.due_us(now_us) / 1e6,
                self.m.masters.due(),
                *due,
            ]
        )
        acknowledge_us = int(self.m.nodes.acknowledge_us[: len(self.m.nodes)].min(initial=NEVER_US))
        earliest = min(earliest, acknowledge_us / 1e6) if acknowledge_us < NEVER_US else earliest
        return max(0.0, earliest - now_us / 1e6) if earliest < NEVER else None

    def _gather(self, c: Changes) -> None:
        """Counters that are due."""
        now = self.clock.monotonic()
        self.m.stale |= _touched(c)
        self._pending_groups |= c.groups | self.planner.explained
        self.planner.explained = {}
        c.groups = {}
        for key, group in list(self._pending_groups.items()):
            state_moved = group.written[:1] != (int(group.run.state),)
            if not (state_moved or now - group.written_at >= COUNTERS_EVERY_S or terminal(group.run.state)):
                continue
            del self._pending_groups[key]
            counters = group.counters()
            if counters != group.written or terminal(group.run.state):
                group.written, group.written_at = counters, now
                c.groups[key] = group

    def _wake(self, c: Changes) -> None:
        """Others have rows of ours to read. Without a hint they find them within a heartbeat."""
        try:
            self.bus.wake(c.homes - {self.sub})
        except BusDown:
            pass

    def _catch_up(self) -> None:
        """Once: with what a former leader did not write any more. The next round does."""
        if not self._caught_up:
            self.m.behind |= behind(self.m, self.store)
            self._caught_up = True

    def _publish(self) -> None:
        m = self.m
        self._withdraw_templates()
        due = m.nodes.acknowledge_us[: len(m.nodes)]
        m.dirty_nodes.update(np.flatnonzero(due <= self.clock.now_us()).tolist())
        if not (m.dirty_nodes or m.republish):
            return
        expires = int(self.clock.now_us() / 1e6 + self.settings.container_lease_s)
        now = self.clock.monotonic()
        bodies, templates = documents(m, self.sub, self.signer, expires, now)
        sent = m.dirty_nodes | m.republish
        m.dirty_nodes, m.republish = set(), set()
        at = positions(sent)
        m.nodes.published[at], m.nodes.acknowledge_us[at] = now, NEVER_US
        try:
            intact = not bodies or self.bus.publish(bodies, templates)
        except BusDown:
            self.lost_redis(sent)
            raise
        if not intact:
            self.lost_redis(range(len(m.nodes)))

    def _withdraw_templates(self) -> None:
        """Give room back before any is taken. A template that is needed again has left the set."""
        unneeded = self.m.templates.unneeded
        if not unneeded:
            return
        try:
            self.bus.withdraw_templates(unneeded)
        except BusDown:
            return  # with the next round; in the end they expire
        unneeded.clear()

    def lost_redis(self, positions: Iterable[int]) -> None:
        """Redis did not take, or has lost, these documents and all templates: put them again."""
        self.m.republish.update(positions)
        for _, group in self.m.asking.values():
            group.published_at = -1e9


def _touched(c: Changes) -> set[tuple[int, int]]:
    """Groups that may want more or less than before these changes."""
    return set(c.groups) | {(job.id, group.run.no) for job in c.jobs.values() for group in job.groups}
