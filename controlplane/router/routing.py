"""Which sub-cluster becomes a job's home: a policy by name, over candidates with their load.

``choose`` is a function of its arguments alone. ``Candidate.load`` is what the
sub-cluster holds and owes as a share of its capacity; a job that has been sent
there is added to it, so that a burst spreads although summaries lag.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Candidate:
    """A sub-cluster as the Router sees it. Demand and capacity: (memory_mib, vcores_milli, gpus)."""

    id: int
    name: str
    accepts: bool  # neither draining nor decommissioned
    led: bool  # its RM has a live lease
    nodes_up: int
    capacity: tuple[int, int, int]
    demand: list[int]  # allocated, pending, and sent since the summary

    @property
    def load(self) -> float:
        """The largest demanded share of any resource; one that nobody has counts as overfull when demanded."""
        return max(d / c if c else (2.0**20 if d else 0.0) for d, c in zip(self.demand, self.capacity, strict=True))


@dataclass(frozen=True, slots=True)
class Ask:
    """What routing knows of a job."""

    name: str
    queue: str
    owner_id: int
    demand: tuple[int, int, int]


Policy = Callable[[Sequence[Candidate], Ask, float], Candidate]


def least_loaded(candidates: Sequence[Candidate], ask: Ask, random: float) -> Candidate:
    """Where the job leaves the lowest load. Ties go to the lower number."""

    def after(c: Candidate) -> float:
        return max(
            (d + a) / k if k else (2.0**20 if d + a else 0.0)
            for d, a, k in zip(c.demand, ask.demand, c.capacity, strict=True)
        )

    return min(candidates, key=lambda c: (after(c), c.id))


def by_hash(candidates: Sequence[Candidate], ask: Ask, random: float) -> Candidate:
    """The same home for the same queue and owner; few move when a sub-cluster comes or goes."""
    who = f"{ask.queue}/{ask.owner_id}".encode()
    return max(candidates, key=lambda c: hashlib.sha256(who + b"@" + c.name.encode()).digest())


def uniform(candidates: Sequence[Candidate], ask: Ask, random: float) -> Candidate:
    """Any of them with equal chance. ``random``: a number in [0, 1)."""
    return candidates[int(random * len(candidates))]


POLICIES: dict[str, Callable[[], Policy]] = {
    "least_loaded": lambda: least_loaded,
    "hash": lambda: by_hash,
    "uniform": lambda: uniform,
}


def usable(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that may take a job, and of these only the best off: led with nodes, else led, else any that accepts."""
    accepting = [c for c in candidates if c.accepts]
    for best in (lambda c: c.led and c.nodes_up, lambda c: c.led, lambda c: c.nodes_up):
        if chosen := [c for c in accepting if best(c)]:
            return chosen
    return accepting


def choose(candidates: Sequence[Candidate], ask: Ask, policy: Policy, random: float) -> Candidate | None:
    """The job's home, with the job's demand added to it; ``None`` when no sub-cluster takes jobs."""
    possible = usable(candidates)
    if not possible:
        return None
    home = possible[0] if len(possible) == 1 else policy(possible, ask, random)
    home.demand = [d + a for d, a in zip(home.demand, ask.demand, strict=True)]
    return home
