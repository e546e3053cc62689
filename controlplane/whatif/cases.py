"""From a simulation's row to what the simulator needs: policies, machines and the workload."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from controlplane.policy import versions
from controlplane.policy.federation import routers
from controlplane.statestore.models import Simulation as Row
from controlplane.whatif import fleet, history, jobqueues, pace
from controlplane.whatif.drained import Drain
from controlplane.whatif.jobqueues import JobQueues
from controlplane.whatif.redrawing import block_note, redrawn
from simulator.engine import Setup, Simulation
from simulator.failures import Churn, Failure
from simulator.site import Pace
from simulator.workload import Machine, RunningJob, Submission

Json = dict[str, Any]
SAMPLES = 3  # of a history that is too large to be simulated as a whole: their differences tell the error


class Unanswerable(Exception):
    """The question makes no sense with the history there is; the text says why, and what to do."""


@dataclass(slots=True)
class Case:
    """Everything that runs of one question share. policies: name -> document, the one in force first.

    accounts: whether users are called as ``history`` calls accounts.
    running_jobs: those that run already. drained: by policy's name, the
    sub-clusters that are emptied from the beginning on, and after how many
    seconds what still runs there is stopped, None: never. drain: what is asked
    about one of these. redraw: the jobs of another seed, alike for all
    policies; None: all seeds have the same. generated: these are of a
    generator, so no seed's are drawn from another's. samples: how many ``jobs``
    is one of, each of which is another seed's. moves: by policy's name, in which
    queue jobs are that have another one in ``jobs``; called: what its queues are
    called in the answer, if not by their paths; mixed: of which no change is told,
    since they have other jobs. churn: how nodes fail; None: none does. delays: of
    ``Pace``, which are asked for.
    """

    workload: str
    jobs: Sequence[Submission]
    sub_clusters: dict[str, list[Machine]]
    policies: dict[str, Json]
    window_s: float
    sample: float = 1.0
    samples: int = 1
    notes: list[str] = field(default_factory=list)
    running_jobs: Sequence[RunningJob] = ()
    drained: dict[str, dict[str, float | None]] = field(default_factory=dict)
    drain: Drain | None = None
    redraw: Callable[[int], Sequence[Submission]] | None = None
    generated: bool = False
    accounts: bool = False
    moves: dict[str, dict[str, str]] = field(default_factory=dict)
    called: dict[str, dict[str, str]] = field(default_factory=dict)
    mixed: Sequence[str] = ()
    churn: Churn | None = None
    delays: dict[str, float] = field(default_factory=dict)

    @property
    def containers(self) -> int:
        """All that may come to run."""
        return sum(group.count for job in self.submitted() for group in job.groups)

    @property
    def size(self) -> int:
        """Containers times nodes: what interpreted rounds take time in proportion to."""
        return self.containers * sum(map(len, self.sub_clusters.values()))

    def submitted(self) -> Iterator[Submission]:
        """In the order in which tasks are counted."""
        yield from (each.job for each in self.running_jobs)
        yield from self.jobs

    def seeds(self, wanted: int) -> range:
        """As many as there are samples at least, whose differences tell how far one may be off.

        One, and a note, where nothing is left to chance: the jobs are the same, and no router throws dice.
        """
        if wanted > 1 and self.redraw is None and not self._by_chance():
            self.notes.append("One seed is enough: no policy leaves to chance where jobs go.")
            return range(1)
        return range(max(wanted, self.samples))

    def _by_chance(self) -> bool:
        if sum(map(bool, self.sub_clusters.values())) < 2:
            return False
        queues = {job.queue for job in self.jobs}
        for name, document in self.policies.items():
            of, moves = routers(document), self.moves.get(name, {})
            if any(of(moves.get(queue, queue)).by_chance for queue in queues):
                return True
        return False

    def drawn_from(self, seed: int) -> int | None:
        """The seed from whose jobs this one's are drawn anew; None where they are not."""
        if self.redraw is None or self.generated or seed < self.samples:
            return None
        return seed % self.samples

    def setup(self, policy: str, seed: int) -> Setup:
        return Setup(
            self.sub_clusters, self.policies[policy], self.pace, seed, pace.period_of(self.until_s), self.until_s,
            name=policy,
            running_jobs=self.running_jobs, waits=self.drain is not None,
            drawn_from=self.drawn_from(seed),
        )  # fmt: skip

    def simulation(self, policy: str, seed: int) -> Simulation:
        """One run, to be begun."""
        jobs = self.redraw(seed) if seed and self.redraw is not None else self.jobs
        found = Simulation(self.setup(policy, seed), jobqueues.placed(jobs, self.moves.get(policy, {})), self.workload)
        for number, name in enumerate(self.sub_clusters, 1):
            drained = self.drained.get(policy, {})
            if name in drained:
                found.drain(number, 0.0, drained[name])
        nodes = {sub.name: (sub.id, list(sub.nodes)) for sub in found.rows.subs.values()}
        for name, at, fails_s, back_s in self.failures(seed):
            number, own = nodes[name]
            found.fail(number, own[at], fails_s, back_s)
        return found

    def failures(self, seed: int = 0) -> Iterator[Failure]:
        """Alike for all policies."""
        return self.churn.drawn(self.sub_clusters, self.until_s, seed) if self.churn else iter(())

    @property
    def until_s(self) -> float:
        """What came last is seen to its end, if it can be."""
        return self.window_s * (1 + pace.TAIL)

    @property
    def pace(self) -> Pace:
        return replace(pace.pace_of(self.containers, self.window_s, len(self.sub_clusters)), **self.delays)

    def pace_note(self) -> list[str]:
        """What a reader has to know of its pace."""
        groups = [group for job in self.submitted() if not job.service for group in job.groups]
        count = sum(group.count for group in groups)
        return pace.note(self.pace, sum(float(each.run_s.mean()) * each.count for each in groups) / max(count, 1))


def of(row: Row) -> Case:
    """Read all of it. ``Unanswerable``, or ``Invalid`` where a policy is not valid for the present sub-clusters."""
    recorded = history.read(row.begins_at, row.ends_at, samples=SAMPLES)
    machines = fleet.read(recorded.sample)
    if not any(found for name, found in machines.sub_clusters.items() if name not in machines.draining):
        raise Unanswerable("no node takes containers now, so nothing can be simulated; add nodes first")
    policies = policies_of(row)
    queues = JobQueues(policies, list(machines.sub_clusters), row.queues)
    jobs = queues.kept(recorded.jobs)
    if not jobs:
        raise Unanswerable(_queues_missing(recorded.jobs))
    window = f"{row.begins_at:%Y-%m-%d %H:%M:%S} to {row.ends_at:%Y-%m-%d %H:%M:%S} UTC"
    samples = [jobs, *map(queues.kept, recorded.others)]
    found = Case(window, jobs, machines.sub_clusters, policies, recorded.window_s, recorded.sample, len(samples))
    found.accounts = True
    found.moves, found.called, found.mixed = queues.moves, queues.names(), queues.mixed()
    found.redraw = partial(redrawn, samples, recorded.window_s)
    found.drained = dict.fromkeys(policies, dict.fromkeys(machines.draining))
    closed = _draining_note(machines.draining)
    found.notes = [*queues.notes(recorded.jobs), *recorded.notes, *machines.notes, *closed, *found.pace_note()]
    if row.seeds > len(samples):
        found.notes.append(block_note(recorded.window_s, len(samples)))
    return found


def _draining_note(names: list[str]) -> list[str]:
    if not names:
        return []
    are = "is" if len(names) == 1 else "are"
    return [f"{', '.join(names)} {are} being drained now, and {are} simulated so from the beginning on: no work comes."]


def policies_of(row: Row) -> dict[str, Json]:
    """By name, the one in force first."""
    proposed = f"version {row.version_id}" if row.version_id else "proposed"
    base = f"version {row.base_id}, in force"
    return {base: versions.readable(row.base.document), proposed: versions.readable(row.document)}


def _queues_missing(jobs: Sequence[Submission]) -> str:
    if not jobs:
        return "no job ran in this window; choose another window"
    return f"no job ran in this window in a queue that both policies have; {jobqueues.remedy(jobs)}"
