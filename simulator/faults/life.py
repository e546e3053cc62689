"""A random life: steps that its seed chooses, faults among them, and the calm in which everything must come to rest."""

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from structlog.testing import capture_logs

from simulator.faults import setting
from simulator.faults.oracle import Violation, require
from simulator.faults.steps import CHANGES, FAULTS, ORDINARY, Steps
from simulator.faults.world import World
from wire.states import JobState

CALM_ROUNDS = 150
_SUBMITS = 0.6  # of its steps in which jobs are submitted
_OF_SERVICES = 5  # one of so many lives has many services, which people change
_TOLD = 40  # steps in a failure's text


@dataclass(frozen=True, slots=True)
class LifeOutcome:
    """What came of a seed. step: at which the violation happened, -1 without one. trace: one line for each thing that
    happened."""

    seed: int
    violation: str
    rule: str
    step: int
    jobs: int
    containers: int
    trace: list[str]

    @property
    def digest(self) -> str:
        """Alike for two lives that were the same."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()

    def __str__(self) -> str:
        if not self.violation:
            return f"seed {self.seed}: {self.jobs} jobs, {self.containers} containers, all well"
        last = "\n".join(self.trace[-_TOLD:])
        return f"seed {self.seed}, step {self.step}: {self.violation}\n{last}"


def run(seed: int) -> LifeOutcome:
    """Live the life of this seed."""
    with capture_logs():
        return Life(seed).run()


class Life:
    def __init__(self, seed: int):
        self.seed = seed
        self.rng = random.Random(seed)
        self.setting = setting.draw(self.rng, list(FAULTS))
        self.changes = CHANGES if seed % _OF_SERVICES == _OF_SERVICES - 1 else {}
        if self.changes:
            self.setting = replace(self.setting, services=setting.MANY_SERVICES)
        self.world = World(self.rng, self.setting)
        self.steps = Steps(self.world)
        self.step = 0

    def run(self) -> LifeOutcome:
        violation = rule = ""
        try:
            self._live()
            self._calm()
        except Violation as wrong:
            violation, rule = str(wrong), wrong.rule
        except Exception as error:  # whatever breaks is a finding
            violation, rule = f"{type(error).__name__}: {error}", "nothing breaks"
            self._where(error)
        oracle = self.world.oracle
        return LifeOutcome(
            self.seed, violation, rule, self.step if violation else -1, self.world.rows.submitted,
            len(oracle.containers), self.world.trace,
        )  # fmt: skip

    def _where(self, error: BaseException) -> None:
        """The innermost place of an error belongs to the story."""
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        if at is not None:
            self.world.log(f"{type(error).__name__} in {at.tb_frame.f_code.co_qualname}, line {at.tb_lineno}")

    def _live(self) -> None:
        rates = self.setting.rates
        names = [*ORDINARY, *(name for name in FAULTS if rates[name])]
        weights = [*ORDINARY.values(), *(FAULTS[name] * rates[name] for name in names[len(ORDINARY) :])]
        names, weights = [*names, *self.changes], [*weights, *self.changes.values()]
        for name in self.rng.choices(names, weights, k=self.setting.steps):
            self.step += 1
            if name == "submit" and self.step > _SUBMITS * self.setting.steps:
                continue
            self.world.log(f"{self.step} {name}")
            act: Callable[[], None] = getattr(self.steps, name)
            act()
            self.world.check()

    def _calm(self) -> None:
        """The faults are over: all that was submitted ends, and nothing is left of it."""
        self.world.log("calm")
        self.steps.heal()
        self.world.check()
        unfinished: list[str] = []
        for _ in range(CALM_ROUNDS):
            self.step += 1
            self.steps.calm_round()
            self.world.check()
            unfinished = list(self.world.unfinished())
            if not unfinished:
                break
        require(not unfinished, "everything comes to rest", *unfinished)
        self._counted()

    def _counted(self) -> None:
        """Jobs ended as they had to."""
        w = self.world
        for leader in w.leaders.values():
            m = leader.loop.memory
            require(not m.jobs and not len(m.containers), "nothing is remembered of what is over", leader.sub)
            require(not m.ledger.queues.any(), "nothing is remembered of what is over", m.ledger.queues.tolist())
        for job, row in w.rows.jobs.items():
            states = [counters[0] for counters in w.rows.groups[job]]
            if row["state"] == JobState.FAILED:
                require(JobState.FAILED in states, "a job fails by a task that did", job, states)
            if row["state"] == JobState.KILLED:
                require(job in self.steps.killed, "a job is killed when somebody says so", job)
