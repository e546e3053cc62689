"""Which sub-cluster becomes a job's home: a policy by name, over candidates with their load.

``route`` is a function of its arguments alone. It offers the sub-clusters in
tiers: those that work and are not full, those that work, those that are led,
and so on to any that accepts jobs, which then wait there. In each tier the
policy chooses; where it names none, its fallback does. A policy whose fallback
is ``reject`` sees the first tier only. Before all that come those that have the
nodes: as long as one that accepts jobs could hold the job, none is offered that never can.

``HomeCandidate.load`` is what the sub-cluster holds and owes as a share of its
capacity; a job that has been sent there is added to it, so that a burst spreads
although what leaders tell lags. Hydra, section 4.1; the names are those of YARN's router policies.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.federation.feasible import Verdict, best
from scheduler.federation.weights import WeightPolicy, load_weights
from scheduler.shares.tree import lineage
from wire.counts import counted
from wire.resources import NOTHING, Amounts

NO_CAPACITY = 2.0**20  # the load of demand for a resource that nobody there has


@dataclass(slots=True)
class HomeCandidate:
    """A sub-cluster as the Router sees it. Demand and capacity: along the axis of resources.

    limited: by a queue's path, what waits for its maximum and is no demand to others.
    """

    id: int
    name: str
    accepts: bool  # neither draining nor decommissioned
    led: bool  # its RM has a live lease
    nodes_up: int
    capacity: Amounts
    demand: list[int]  # held, waiting for room, and sent since its leader looked
    read_at: float = 0.0  # when its leader looked, in seconds of the epoch
    limited: Mapping[str, Amounts] = field(default_factory=dict)

    def to(self, queue: str) -> "HomeCandidate":
        """As it is to jobs of that queue: they would wait behind those that wait for its maximum, or one above it."""
        binding = [self.limited[path] for path in lineage(queue) if path in self.limited] if self.limited else ()
        if not binding:
            return self
        return replace(self, demand=[sum(each) for each in zip(self.demand, *binding, strict=True)])

    @property
    def load(self) -> float:
        """The largest demanded share of any resource; one that nobody has counts as overfull when demanded."""
        return self.load_with(NOTHING)

    def load_with(self, more: Amounts) -> float:
        """The load if it had this demand too."""
        return max(
            (d + m) / c if c else (NO_CAPACITY if d + m else 0.0)
            for d, m, c in zip(self.demand, more, self.capacity, strict=True)
        )


@dataclass(frozen=True, slots=True)
class RoutedJob:
    """What routing knows of a job. ``owned``: by sub-cluster, how many of its containers name something found there.

    ``verdicts``: which sub-clusters could hold it; those that are missing could not, and of none all are alike.
    """

    name: str
    queue: str
    owner_id: int
    demand: Amounts
    containers: int = 1
    owned: Mapping[int, int] = field(default_factory=dict)
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)


ChosenHome = tuple[HomeCandidate, str]  # whom, and why in a few words
RoutingPolicy = Callable[[Sequence[HomeCandidate], RoutedJob, float], ChosenHome | None]


def _load(load: float) -> str:
    return f"load {load:.2f}" if load < NO_CAPACITY else "no capacity for it"


def least_loaded() -> RoutingPolicy:
    """Where the job leaves the lowest load. Ties go to the lower number."""

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> ChosenHome:
        home = min(candidates, key=lambda c: (c.load_with(job.demand), c.id))
        return home, _load(home.load)

    return pick


def uniform() -> RoutingPolicy:
    """Any of them with equal chance."""

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> ChosenHome:
        return candidates[int(random * len(candidates))], f"one of {len(candidates)} by chance"

    return pick


def weighted_random(
    weights: Mapping[str, float],
    load_based: bool = False,
    *,
    min_load: float = 1.0,
    max_load: float = 2.0,
    min_weight: float = 0.0,
    scaling: str = "linear",
    max_edit: int | None = None,
) -> RoutingPolicy:
    """By chance in proportion to ``weights`` by name; without any all weigh alike, else who is not named weighs 0.

    ``load_based``: times the weight that ``weights.load_weights`` gives the load, so that the overloaded get fewer.
    """
    falling = WeightPolicy(max_edit, min_load, max_load, min_weight, scaling)

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> ChosenHome | None:
        own = [(weights.get(c.name, 0.0) if weights else 1.0) for c in candidates]
        if load_based:
            less = load_weights(np.array([c.load for c in candidates]), falling).tolist()
            by_load = [w * f for w, f in zip(own, less, strict=True)]
            own = by_load if any(by_load) else own
        total = math.fsum(own)
        at = random * total
        for c, w in zip(candidates, own, strict=True):
            if w > 0 and at < w:
                return c, f"weight {w:g} of {total:g}"
            at -= w
        last = [c for c, w in zip(candidates, own, strict=True) if w > 0]  # rounding may leave the end of the range
        return (last[-1], f"of a weight of {total:g}") if last else None

    return pick


def priority(weights: Mapping[str, float]) -> RoutingPolicy:
    """The highest weight by name; who is not named or weighs 0 is not chosen. Ties go to the lower number."""

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> ChosenHome | None:
        named = [c for c in candidates if weights.get(c.name, 0.0) > 0]
        if not named:
            return None
        home = min(named, key=lambda c: (-weights[c.name], c.id))
        return home, f"the highest weight, {weights[home.name]:g}"

    return pick


_HASHED: dict[str, Callable[[RoutedJob], str]] = {
    "queue": lambda ask: ask.queue,
    "owner": lambda ask: f"{ask.owner_id}",
    "queue_and_owner": lambda ask: f"{ask.queue}/{ask.owner_id}",
}


def by_hash(by: str = "queue") -> RoutingPolicy:
    """The same home for the same queue or owner; few move when a sub-cluster comes or goes (rendezvous hashing)."""

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> ChosenHome:
        who = _HASHED[by](job).encode()
        home = max(candidates, key=lambda c: hashlib.sha256(who + b"@" + c.name.encode()).digest())
        return home, f"hash of its {by.replace('_', ' ')}"

    return pick


def locality() -> RoutingPolicy:
    """Where most of its containers find the nodes, racks or labels they name; else where load is least."""
    otherwise = least_loaded()

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> ChosenHome | None:
        most = max(job.owned.get(c.id, 0) for c in candidates)
        best = [c for c in candidates if job.owned.get(c.id, 0) == most]
        found = otherwise(best, job, random)
        if found is None or not most:
            return found
        return found[0], f"{most} of its {job.containers} containers find there what they name"

    return pick


def local_first(order: Sequence[str], spill_load: float = 0.9) -> RoutingPolicy:
    """The first in ``order`` whose load with the job is at most ``spill_load``; the least loaded of them if none is."""

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> ChosenHome | None:
        by_name = {c.name: c for c in candidates}
        listed = [by_name[name] for name in order if name in by_name]
        for c in listed:
            if (load := c.load_with(job.demand)) <= spill_load:
                return c, f"first of its order with room, {_load(load)}"
        if not listed:
            return None
        home = min(listed, key=lambda c: c.load_with(job.demand))  # the first among equals
        return home, f"none of its order has room, {_load(home.load)}"

    return pick


def reject(message: str = "") -> RoutingPolicy:
    """Nowhere; see ``Router``."""

    def pick(candidates: Sequence[HomeCandidate], job: RoutedJob, random: float) -> None:
        return None

    return pick


@dataclass(frozen=True, slots=True)
class RoutingStrategy:
    """make: the policy of its parameters. falls_back: decides where another policy names nobody; needs no parameters.

    by_chance: it draws. follows_names: it looks at the nodes, racks and labels
    that a job names. refuses: it sends no job anywhere.
    """

    make: Callable[..., RoutingPolicy]
    falls_back: bool = False
    by_chance: bool = False
    follows_names: bool = False
    refuses: bool = False


POLICIES = {
    "uniform": RoutingStrategy(uniform, falls_back=True, by_chance=True),
    "weighted_random": RoutingStrategy(weighted_random, by_chance=True),
    "priority": RoutingStrategy(priority),
    "hash": RoutingStrategy(by_hash, falls_back=True),
    "least_loaded": RoutingStrategy(least_loaded, falls_back=True),
    "locality": RoutingStrategy(locality, falls_back=True, follows_names=True),
    "local_first": RoutingStrategy(local_first),
    "reject": RoutingStrategy(reject, falls_back=True, refuses=True),
}
FALLBACKS = tuple(name for name, strategy in POLICIES.items() if strategy.falls_back)


@dataclass(frozen=True, slots=True)
class Router:
    """A policy with its parameters, and what is done where it names nobody.

    ``full_load``: a sub-cluster above this load is full. ``message``: what a
    refused tenant reads.
    """

    name: str
    policy: RoutingPolicy
    fallback: str = "least_loaded"
    full_load: float = math.inf
    message: str = ""

    @property
    def follows_names(self) -> bool:
        """Whether it looks at the nodes, racks and labels a job names."""
        return any(strategy.follows_names for strategy in self._strategies)

    @property
    def by_chance(self) -> bool:
        """Whether the same jobs may find other homes the next time."""
        return any(strategy.by_chance for strategy in self._strategies)

    @property
    def _strategies(self) -> tuple[RoutingStrategy, RoutingStrategy]:
        return POLICIES[self.name], POLICIES[self.fallback]


def router(name: str, fallback: str = "least_loaded", full_load: float | None = None, **parameters: object) -> Router:
    """The router of a policy's name and parameters."""
    full = math.inf if full_load is None else full_load
    message = str(parameters.get("message", ""))
    chosen = POLICIES[name]
    return Router(name, chosen.make(**parameters), name if chosen.refuses else fallback, full, message)


@dataclass(frozen=True, slots=True)
class RoutingDecision:
    """Where a job goes. ``home`` is ``None`` when it is refused; ``final``: by rule, so that waiting does not help."""

    policy: str
    why: str
    home: HomeCandidate | None = None
    final: bool = False


def route(candidates: Sequence[HomeCandidate], job: RoutedJob, by: Router, random: float) -> RoutingDecision:
    """The job's home, with the job's demand added to it. ``random``: a number in [0, 1)."""
    if POLICIES[by.name].refuses:
        return RoutingDecision(by.name, by.message or "its routing policy rejects every job", final=True)
    last = POLICIES[by.fallback]
    otherwise = None if last.refuses else last.make()
    able, beside = _able([c.to(job.queue) for c in candidates], job)
    tiers = _tiers(able, by.full_load)
    for tier in tiers if otherwise else tiers[:1]:
        if not tier:
            continue
        name, picked = by.name, by.policy(tier, job, random)
        if picked is None and otherwise:
            name, picked = by.fallback, otherwise(tier, job, random)
        if picked:
            why, home = picked[1], next(c for c in candidates if c.id == picked[0].id)
            home.demand = [d + a for d, a in zip(home.demand, job.demand, strict=True)]
            passed = "" if name == by.name else f"; {by.name} names no sub-cluster that takes jobs now"
            return RoutingDecision(name, why + beside + passed, home)
    if not any(c.accepts for c in candidates):
        return RoutingDecision(by.name, "no sub-cluster takes jobs at the moment; an operator can resume one")
    return RoutingDecision(by.name, f"no sub-cluster that {by.name} may use works and has room at the moment")


def _able(candidates: Sequence[HomeCandidate], job: RoutedJob) -> tuple[Sequence[HomeCandidate], str]:
    """Of those that accept jobs, the ones that could hold most of its groups; and what is to be said of the others."""
    accepting = [c for c in candidates if c.accepts]
    if not job.verdicts:
        return accepting, ""
    nothing = Verdict(0, next(iter(job.verdicts.values())).groups)
    verdicts = {c.id: job.verdicts.get(c.id, nothing) for c in accepting}
    able = [c for c in accepting if c.id in best(verdicts)]
    if not any(verdict.held for verdict in verdicts.values()):
        return able, "; no sub-cluster has nodes in service that could hold it"
    others = len(accepting) - len(able)
    return able, f"; {counted(others, 'other')} could not hold it" if others else ""


def _tiers(candidates: Sequence[HomeCandidate], full_load: float) -> list[list[HomeCandidate]]:
    """Those that accept jobs, the best off first; the last may be without a leader and nodes."""
    accepting = [c for c in candidates if c.accepts]
    led = [c for c in accepting if c.led]
    up = [c for c in led if c.nodes_up]
    return [[c for c in up if c.load <= full_load], up, led, [c for c in accepting if c.nodes_up], accepting]
