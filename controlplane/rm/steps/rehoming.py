"""Jobs that wait where no node could ever hold them move to a sub-cluster that could, while nothing of them has begun.

Routing sends none there while another could hold it; but nodes come, go and
change after a submit. Tasks whose queue may leave home are handed over by the
AM-RM proxy; what cannot be is the job itself, where its queue keeps tasks at
home, or where a limit of this home keeps a gang from ever being admitted.
"""

from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np

from controlplane.policy.federation import routers
from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.kinds import need_of, needs_of
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Clock, Store
from controlplane.rm.steps.outcome import emit_event
from controlplane.rm.steps.subclusters import RemoteSubClusters
from controlplane.statestore.loads import Load
from scheduler.federation.routing import HomeCandidate, RoutedJob, Router, route
from wire.resources import AXES, amounts
from wire.states import JobState

LOOK_S = 2.0  # between two looks
MOST_OF_TIME = 0.02  # of a leader's time at most
JUDGED = 5_000  # jobs that are looked at in one look: a successor may come to know a hundred thousand at once
NAMED = 1000  # groups of which it is said who could hold them
PER_LOOK = 100  # jobs that move at once at most
_GOLDEN = 0.618033988749895  # its multiples are spread evenly: a number in [0, 1) for each job


@dataclass(slots=True)
class Rehoming:
    """Keeps ``Memory.unheld`` true, by what is known of the nodes here, and moves jobs for its sake."""

    sub: int
    m: Memory
    next_s: float = 0.0
    _version: tuple[int, int] = (-1, -1)
    _again: dict[int, None] = field(default_factory=dict)  # jobs that were judged by other nodes, in turn

    def due_s(self) -> float:
        """When it should look again although nothing has happened; endless while all jobs could run here."""
        return self.next_s if self.m.unheld else np.inf

    def run(self, store: Store, c: Changes, clock: Clock, remotes: RemoteSubClusters) -> None:
        """Look at most every ``LOOK_S``."""
        now, began = c.at_us / 1e6, clock.monotonic()
        if now < self.next_s:
            return
        self._judge(remotes)
        self._look(store, c, remotes, now)
        self.next_s = now + max(LOOK_S, (clock.monotonic() - began) / MOST_OF_TIME)

    def _look(self, store: Store, c: Changes, remotes: RemoteSubClusters, now: float) -> None:
        """Nothing is read while all jobs could run here."""
        m = self.m
        if not m.unheld:
            return
        remotes.refresh(store, m, now)
        if not remotes.loads or remotes.own is None:
            return
        self._name(remotes)
        waiting = [m.jobs[job] for job in sorted({job for job, _ in m.unheld}) if _movable(c, m.jobs[job])]
        by = routers(m.queues.document)
        homes = [_candidate(load) for load in (remotes.own, *remotes.loads.values())]
        moved = 0
        for job in waiting:
            moved += self._move(c, job, homes, remotes, by(job.queue))
            if moved >= PER_LOOK:
                break

    def _name(self, remotes: RemoteSubClusters) -> None:
        """Say of groups that wait which sub-clusters could hold them."""
        m, others = self.m, remotes.kinds(self.m)
        for key in list(m.unheld)[:NAMED]:
            need = need_of(m, m.jobs[key[0]].groups[key[1]])
            able = sorted(sub for sub, n in others.containers(need).items() if n >= need.at_once)
            m.unheld[key] = [remotes.name(sub) for sub in able]

    def _judge(self, remotes: RemoteSubClusters) -> None:
        """Look at jobs that came or changed, at all where nodes or partitions are others.

        Until then a job is known as it was judged last.
        """
        m = self.m
        version = (m.nodes.labels_version, m.queues.version)
        if version != self._version:
            self._version = version
            self._again |= dict.fromkeys(m.jobs)
        m.unheld = {key: names for key, names in m.unheld.items() if key[0] in m.jobs and not m.jobs[key[0]].home}
        m.guests_unheld = {key for key in m.guests_unheld if key[0] in m.guests}
        vain = {job for job, _ in (*m.unheld, *m.guests_unheld) if job in self._again}  # nodes for them may have come
        before = len(m.unheld) + len(m.guests_unheld)
        for number in list(islice(dict.fromkeys(chain(m.unjudged, sorted(vain), self._again)), JUDGED)):
            m.unjudged.pop(number, None), self._again.pop(number, None)
            if (job := m.jobs.get(number)) is not None:
                for group in job.groups:
                    self._judge_group(remotes, job, group)
        m.placeable |= len(m.unheld) + len(m.guests_unheld) != before  # what waits in vain is said by a plan

    def _judge_group(self, remotes: RemoteSubClusters, job: JobEntry, group: GroupEntry) -> None:
        m, key, need = self.m, (job.id, group.run.no), need_of(self.m, group)
        held = remotes.held_here(m, need) >= need.at_once
        if job.home:
            (m.guests_unheld.discard if held else m.guests_unheld.add)(key)
        elif held:
            m.unheld.pop(key, None)
        else:
            m.unheld.setdefault(key, None)

    def _move(
        self, c: Changes, job: JobEntry, homes: list[HomeCandidate], remotes: RemoteSubClusters, by: Router
    ) -> bool:
        """Give the job another home if one could hold more of it; whether it did."""
        m, others = self.m, [home.id for home in homes if home.id != self.sub]
        needs = needs_of(m, job)
        here = remotes.own_kinds(m).verdicts(needs, (self.sub,))[self.sub]
        verdicts = remotes.kinds(m).verdicts(needs, others) | {self.sub: here}
        if max(verdict.held for verdict in verdicts.values()) <= here.held:
            return False
        demand = amounts(sum(n.count * n.shape[k] for n in needs) for k in range(len(AXES)))
        asked = RoutedJob("", job.queue, job.owner, demand, sum(n.count for n in needs), {}, verdicts)
        home = route(homes, asked, by, job.id * _GOLDEN % 1.0).home
        if home is None or home.id == self.sub or not (home.led and home.nodes_up):
            return False
        own = next(candidate.name for candidate in homes if candidate.id == self.sub)
        emit_event(c, job, "rehomed", f"its home {own} could not hold it: {here.why}; {home.name} is its home now")
        c.rehomed[job.id] = home.id
        c.homes.add(home.id)
        for group in job.groups:
            m.behind.pop((job.id, group.run.no), None)
        m.forget(job)
        for group in job.groups:
            m.unheld.pop((job.id, group.run.no), None)
        return True


def _movable(c: Changes, job: JobEntry) -> bool:
    """Whether nothing of the job has begun, nor was handed to others, so that another home can begin it."""
    waits = job.run.state in (JobState.SUBMITTED, JobState.ADMITTED) and not job.started_us
    known = job.id not in c.jobs and job.application is None
    return waits and known and not any(group.slots or group.remote for group in job.groups)


def _candidate(load: Load) -> HomeCandidate:
    size = amounts(load.capacity.tolist())
    accepts = load.state == "running"
    demand, limited = load.demand.tolist(), load.limited.by_queue
    return HomeCandidate(
        load.sub_cluster, load.name, accepts, load.counts, load.nodes_up, size, demand, limited=limited
    )
