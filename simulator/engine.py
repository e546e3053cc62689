"""Runs a federation on a virtual clock: the control plane's own functions, from one moment at which something happens
to the next.

Nothing is drawn but from the seed, so the same setup gives the same run. What
is simulated is what surrounds those functions: Postgres (``rows``), Redis
(``bus``), nodes and their processes (``simulatednodes``), and time.
"""

import heapq
import itertools
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.steps.drain import LOOK_EVERY_US
from simulator.bus import SimulatedRedis
from simulator.clock import VirtualClock, seconds
from simulator.fairness import granted
from simulator.gpg import SimulatedGpg
from simulator.initialstate import InitialState
from simulator.measures import Run
from simulator.recorder import Meter, Recorder
from simulator.router import SimulatedRouter
from simulator.rows import Federation
from simulator.site import NEVER, Pace, Site
from simulator.specs import JobRunTimes, job_row, node_row
from simulator.waits import Waits
from simulator.workload import Machine, RunningContainers, RunningJob, Submission, in_order
from wire.counts import counted
from wire.resources import AXES

Json = dict[str, Any]
R = len(AXES)
STUCK_S = 4 * 3600.0  # longer than anything in the control plane waits before it tries again


@dataclass(frozen=True, slots=True)
class Setup:
    """What is simulated. sub_clusters: machines by name. policy: a document. period_s: of what is averaged over time.

    until_s: no longer than this; None: until everything submitted has ended.
    check: every plan's invariants, in every round. running_jobs: those of which
    something runs when it begins. drawn_from: as in ``Run``. waits: see how long each single task waits.
    """

    sub_clusters: Mapping[str, Sequence[Machine]]
    policy: Json
    pace: Pace = field(default_factory=Pace)
    seed: int = 0
    period_s: float = 60.0
    until_s: float | None = None
    check: bool = False
    name: str = "policy"
    running_jobs: Sequence[RunningJob] = ()
    waits: bool = False
    drawn_from: int | None = None


Act = Callable[["Simulation"], None]


class Simulation:
    """One run. ``at``: have something done at a moment (a node that fails, another policy), before ``run``.

    ``listeners``: called with the sub-cluster and what each commit there has changed.
    """

    def __init__(self, setup: Setup, workload: Iterable[Submission], name: str = ""):
        self.setup, self.name = setup, name
        self.clock = VirtualClock()
        self.rows = Federation(self.clock)
        self.runs = JobRunTimes()
        place = {}
        for number, (sub, machines) in enumerate(setup.sub_clusters.items(), 1):
            own = self.rows.add_sub_cluster(number, sub)
            for machine in machines:
                row = node_row(self.rows.number(), machine)
                own.nodes[row["id"]] = row
                place[row["id"]] = machine.name, machine.rack
        policy = self.rows.publish(setup.policy)
        # In the order in which leaders keep them, whatever the document's is.
        leaves = sorted((row.path for row in policy.queues if row.leaf), key=lambda path: path.split("."))
        self.recorder = Recorder(leaves, place)
        self.meter = Meter(len(leaves), setup.period_s)
        self.router = SimulatedRouter(self.rows, setup.seed)
        self.gpg = SimulatedGpg(self.rows, setup.pace.load_s)
        self.waits = Waits() if setup.waits else None
        self.emptied: dict[str, float] = {}  # sub-clusters that are drained, and since when nothing is left there
        self._groups: dict[int, int] = {}  # live jobs: how many groups each has
        initial = self._open(setup.running_jobs)
        redis = {sub: SimulatedRedis(sub, epoch=0) for sub in self.rows.subs}
        callbacks = self._hint, self._on_commit, self._on_room_freed
        self.sites = {
            sub: Site(self.rows, sub, self.clock, setup.pace, self.runs, redis, *callbacks, setup.check)
            for sub in redis
        }
        initial.start_containers(self.sites)
        self._measured = {sub: np.zeros((2 * len(leaves) + 1, R)) for sub in self.sites}
        self._total = np.zeros((2 * len(leaves) + 1, R))
        self._workload: Iterator[Submission] = in_order(workload)
        self._coming = next(self._workload, None)
        self._acts: list[tuple[float, int, Act]] = []
        self._order = itertools.count()
        self.listeners: list[Callable[[int, Changes], None]] = []
        self._moved_s = 0.0  # when a container last came or ended
        self.notes: list[str] = []

    def _open(self, running_jobs: Sequence[RunningJob]) -> InitialState:
        """Store what leaders find when they begin."""
        initial, numbers = InitialState(self.rows, self.clock), {sub.name: sub.id for sub in self.rows.subs.values()}
        for each in running_jobs:
            owner = self.recorder.user(each.job.user) + 1
            job = self.rows.store(numbers[each.job.home], job_row(each.job, owner, self.clock))
            self._enter(job, each.job, each.running)
            self.recorder.resume(job, each.job, each.running)
            initial.add_job(job, each)
        return initial

    # From outside

    def at(self, when_s: float, act: Act) -> None:
        """Have this done at a moment of the simulation."""
        heapq.heappush(self._acts, (when_s, next(self._order), act))

    def fail(self, sub: int, node: int, at_s: float, back_s: float | None = None) -> None:
        """The node fails, with all that runs on it, and may come back empty."""
        self.at(at_s, lambda s: s._touch(sub, lambda site: site.fail(node)))
        if back_s is not None:
            self.at(back_s, lambda s: s._touch(sub, lambda site: site.repair(node)))

    def push(self, document: Json, at_s: float, delay_s: float = 0.0) -> None:
        """Another policy from then on; leaders hear of it ``delay_s`` later. Its leaf queues must be the same."""
        self.at(at_s, lambda s: s._push(document, delay_s))

    def take_over(self, sub: int, at_s: float, gap_s: float = 0.0) -> None:
        """The sub-cluster's leader is gone, and another one leads ``gap_s`` later."""
        self.at(at_s, lambda s: s._leaderless(sub, gap_s))

    def drain(self, sub: int, at_s: float, deadline_s: float | None = None) -> None:
        """Operators empty the sub-cluster: services leave now, nothing new comes, what runs may end.

        deadline_s: after ``at_s``, when what still runs is stopped. ``Run.emptied`` says when nothing is left there.
        """
        self.at(at_s, lambda s: s._drain(sub, deadline_s))

    def run(self, on_progress: Callable[[float], None] | None = None) -> Run:
        """Until everything has ended, or ``until_s``. on_progress: called with the simulation's time, now and
        then; what it raises ends the run."""
        began, next_progress = time.perf_counter(), 0.0
        while (due := self._next()) < NEVER:
            if self.setup.until_s is not None and due > self.setup.until_s:
                self.clock.now = self.setup.until_s
                break
            if self._stuck(due):
                waits = counted(len(self._groups), "job waits", "jobs wait")
                self.notes.append(f"nothing happened any more: {waits} for what does not come")
                break
            self.clock.now = max(self.clock.now, due)
            self._step()
            if on_progress is not None and time.perf_counter() > next_progress:
                next_progress = time.perf_counter() + 0.1
                on_progress(self.clock.now)
        self.meter.step(self.clock.now)
        return self._result(time.perf_counter() - began)

    # One moment

    def _stuck(self, due: float) -> bool:
        """Whether nobody will ever start what still waits: nothing runs, nothing comes, and hours have passed."""
        coming = self._coming is not None or self._acts or any(sub.containers for sub in self.rows.subs.values())
        return not coming and due - self._moved_s > STUCK_S

    def _next(self) -> float:
        due = min(site.next_s for site in self.sites.values())
        if self._coming is not None:
            due = min(due, self._coming.at_s)
        if self._acts:
            due = min(due, self._acts[0][0])
        if due < NEVER or any(not site.idle for site in self.sites.values()):
            due = min(due, self.gpg.next_s) if len(self.sites) > 1 else due
        return due

    def _step(self) -> None:
        now = self.clock.now
        while self._acts and self._acts[0][0] <= now:
            heapq.heappop(self._acts)[2](self)
        while self._coming is not None and self._coming.at_s <= now:
            self._submit(self._coming)
            self._coming = next(self._workload, None)
        if len(self.sites) > 1 and self.gpg.next_s <= now and self.gpg.step():
            for site in self.sites.values():
                site.memory.shares.refresh(site.store, self.clock, hinted=True)
                site.memory.placeable = True
        for site in self.sites.values():
            if site.next_s <= now:
                self._round(site)
        self._reap()

    def _round(self, site: Site) -> None:
        site.step()
        self._measure(site)
        site.next_s = site.due_s()

    def _submit(self, s: Submission) -> None:
        owner = self.recorder.user(s.user) + 1
        home = self.router.home(s, owner)
        job = None if home is None else self.rows.submit(home, job_row(s, owner, self.clock))
        self._enter(job, s)
        if home is not None:
            self._hint((home,))

    def _enter(self, job: int | None, s: Submission, running: Sequence[RunningContainers] = ()) -> None:
        """Whoever measures learns of the job. None: nobody takes it."""
        if self.waits is not None:
            self.waits.submit(job, s, running)
        if job is None:
            self.recorder.refuse(s)
        else:
            self.recorder.submit(job, s)
            self.runs.add(job, s.groups)
            self._groups[job] = len(s.groups)

    def _touch(self, sub: int, change: Callable[[Site], None]) -> None:
        site = self.sites[sub]
        change(site)
        site.next_s = min(site.next_s, site.due_s())

    def _push(self, document: Json, delay_s: float) -> None:
        before = self.recorder.queues
        policy = self.rows.publish(document)
        other = {*before} ^ {row.path for row in policy.queues if row.leaf}
        if other:
            raise ValueError(f"the policy has other leaf queues: {sorted(other)}")
        self.at(self.clock.now + delay_s, lambda s: s._hint(s.sites))

    def _leaderless(self, sub: int, gap_s: float) -> None:
        site = self.sites[sub]
        site.own.lease.holder, site.next_s, site.has_leader = "", NEVER, False
        self.at(self.clock.now + gap_s, lambda s: s._touch(sub, Site.lead))

    def _drain(self, sub: int, deadline_s: float | None) -> None:
        own = self.rows.subs[sub]
        own.state = "draining"
        if deadline_s is not None:
            own.deadline_us = self.clock.now_us() + int(deadline_s * 1e6)
            for later_s in (0.0, LOOK_EVERY_US / 1e6):  # a leader that has just looked looks once more
                self.at(self.clock.now + deadline_s + later_s, lambda s: s._hint((sub,)))
        self.rows.add_intent(sub, "maintenance")
        self._hint((sub,))
        self._empty(sub)

    def _empty(self, sub: int) -> None:
        own = self.rows.subs[sub]
        if own.state == "draining" and not own.containers:
            self.emptied.setdefault(own.name, self.clock.now)

    def _hint(self, subs: Iterable[int]) -> None:
        """There are rows for these leaders to read."""
        for sub in subs:
            site = self.sites[sub]
            site.hinted = True
            if not site.has_leader:
                continue
            site.next_s = min(site.next_s, max(self.clock.now, site.last_s + site.pace.interval_s))

    def _on_room_freed(self, sub: int) -> None:
        """Those for whom something waits see it, as leaders do that look every second or so."""
        for other, site in self.sites.items():
            if other != sub:
                site.schedule_by(site.proxy_check_s())

    def _on_commit(self, sub: int, c: Changes) -> None:
        self.recorder.on_commit(c)
        if self.waits is not None:
            self.waits.on_commit(c)
        self._empty(sub)
        if c.moved:
            for other, site in self.sites.items():
                if other != sub:
                    site.schedule_by(site.service_check_s())
        if c.new or c.ended:
            self._moved_s = self.clock.now
        for listener in self.listeners:
            listener(sub, c)

    def _reap(self) -> None:
        for job in self.recorder.ended:
            self.runs.remove(job, self._groups.pop(job, 0))
        self.recorder.ended.clear()

    # What is measured

    def _measure(self, site: Site) -> None:
        """What the site's queues hold and want has changed."""
        m = site.memory
        q = len(self.recorder.queues)
        leaf = np.flatnonzero(m.queues.leaf)
        now = np.zeros((2 * q + 1, R))
        now[:q] = m.ledger.queues.sum(axis=0)[leaf]
        rows = np.flatnonzero(m.asks.count > 0)
        if len(rows):
            shapes, shape = m.asks.shapes_of(rows)
            wanted = np.zeros((len(m.queues.paths), R))
            queue = m.ledger.leaf_of(m.asks.job[rows])
            np.add.at(wanted, queue, shapes[shape] * m.asks.count[rows, None])
            now[q : 2 * q] = wanted[leaf]
        now[-1] = site.capacity
        self.meter.step(self.clock.now)
        self._total += now - self._measured[site.sub]
        self._measured[site.sub] = now
        self.meter.put(self._total[:q], self._total[q : 2 * q], self._total[-1])

    def _held(self) -> np.ndarray:
        """(u, R) what each user held since the beginning, with what is held still."""
        for site in self.sites.values():
            table = site.memory.containers
            for slot in np.flatnonzero(table.live).tolist():
                job, _ = table.owner_of(slot)
                (shape,) = site.memory.containers_hold(np.array([slot]))
                self.recorder.hold(job.id, shape, self.clock.now - max(seconds(table.allocated_us[slot]), 0.0))
        return self.recorder.held[: len(self.recorder.users)]

    def _result(self, took_s: float) -> Run:
        r = self.recorder
        capacity, used, wanted = self.meter.averages()
        policy = self.rows.policy
        assert policy is not None
        return Run(
            policy=self.setup.name, workload=self.name, seed=self.setup.seed, drawn_from=self.setup.drawn_from,
            queues=r.queues, users=list(r.users), period_s=self.setup.period_s,
            jobs=r.jobs[: r.count].copy(), latency=r.latency, capacity=capacity,
            used=used, wanted=wanted, share=granted(policy.whole, r.queues, capacity, used, wanted),
            preempted=r.preempted, locality=r.locality, wasted=r.wasted, drained_work=r.drained_work,
            work_before=r.work_before, held=self._held(), ended_s=self.clock.now,
            lifecycles=r.lifecycles, rounds=sum(site.rounds for site in self.sites.values()), took_s=took_s,
            peak_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, emptied=self.emptied,
            left={sub.name: len(sub.containers) for sub in self.rows.subs.values() if sub.state == "draining"},
            waited=None if self.waits is None else self.waits.result(self.clock.now),
            refused=np.array(r.refused, np.int64).reshape(-1, 2), notes=self.notes + r.notes(),
        )  # fmt: skip
