"""Jobs drawn from a seed, shaped by what the papers tell of Microsoft's clusters.

From the papers, with the place in each:

- nearly 60 % of all tasks run for less than 10 s (Mercury, section 1, on its
  Figure 1: the only point of the curve that its text gives);
- 10 billion tasks of recurring jobs took 110 million task-hours, so 39.6 s on
  average, 8,000 tasks per job, two cores each (Hydra, section 7.4);
- over 500,000 jobs a day on over 250,000 servers (Hydra, Tables 1 and 3): spread
  evenly, 208 an hour on a sub-cluster of 2,500 (2,000 to 3,000, section 6.1);
- two users per queue (over 10,000 and over 5,000) and ten levels of priority on
  average (Hydra, Table 2);
- jobs from one task to millions (Hydra, section 2.1); 200 tasks per job in
  Mercury's experiments (section 7.2); containers such as 2 GiB and one core
  (Hydra, appendix A.1).

Our own assumptions: both points of the duration lie on one log-normal curve
(median 6.1 s, 99 of 100 under 9.1 min), though the papers measured them in
different years; tasks of a job are alike by half of that curve's variance; the
numbers of tasks are log-normal with a median of 20, cut at 10,000; queues,
users and sub-clusters are wanted by Zipf's law; a day is a cosine around its
mean; priorities are even; memory beyond that of A.1; and everything of
estimates, failures and gangs.

A generator of its own serves each aspect, so that a change to one, such as the
estimates, leaves all others as they are.
"""

from collections.abc import Iterator
from dataclasses import fields
from itertools import count
from typing import Any

import numpy as np

from simulator.workload import Submission, SubmittedGroup
from simulator.workloads.shape import Durations, Sizes, WorkloadShape, day_factor, zipf
from simulator.workloads.source import Source

ASPECTS = ("arrivals", "queues", "sizes", "runs", "places", "estimates", "failures", "gangs")
OPTIONS = ("seed", *(f.name for f in fields(WorkloadShape)))


def read(path: None = None, *, seed: int = 0, **options: Any) -> Source:
    """The jobs of this seed; options are the fields of ``WorkloadShape``. There is no file, so ``path`` is None."""
    if path is not None:
        raise ValueError(f"path: {str(path)!r} is not read, as jobs are drawn; leave it out")
    # Documents in JSON have lists in place of tuples.
    for name, inner in (("leaves", str), ("bundles", tuple)):
        if name in options:
            options[name] = tuple(inner(each) for each in options[name])
    return generate(seed, WorkloadShape(**options))


def generate(seed: int, shape: WorkloadShape) -> Source:
    """The jobs of this seed and shape, drawn one after another: always the same."""
    return Source(lambda skipped: _Draws(seed, shape).jobs(), {"seed": str(seed)})


def queue_tree(shape: WorkloadShape) -> dict[str, Any]:
    """The ``queues`` of a policy document: each is guaranteed its average part of the jobs of the one above."""
    leaves = shape.leaf_queues()
    weights = zipf(len(leaves), shape.queue_skew).tolist()
    return _below([(path.split(".")[1:], weight) for path, weight in zip(leaves, weights, strict=True)])


def _below(leaves: list[tuple[list[str], float]]) -> dict[str, Any]:
    """Queues from (names from here down, weight) of all leaves below."""
    kids: dict[str, list[tuple[list[str], float]]] = {}
    for names, weight in leaves:
        kids.setdefault(names[0], []).append((names[1:], weight))
    total = sum(weight for _, weight in leaves)
    found: dict[str, Any] = {}
    for name, of in kids.items():
        found[name] = {"guaranteed": sum(weight for _, weight in of) / total}
        if of[0][0]:
            found[name]["children"] = _below(of)
    return found


class _Draws:
    """One pass through the jobs of a seed."""

    def __init__(self, seed: int, shape: WorkloadShape) -> None:
        self.shape = shape
        children = np.random.SeedSequence(seed).spawn(len(ASPECTS))
        self.rng = {name: np.random.default_rng(child) for name, child in zip(ASPECTS, children, strict=True)}
        self.durations, self.sizes = Durations.of(shape), Sizes.of(shape)
        self.leaves = shape.leaf_queues()
        self.by_queue = np.cumsum(zipf(len(self.leaves), shape.queue_skew))
        self.by_user = np.cumsum(zipf(shape.users_per_queue, shape.user_skew))
        weights = np.array([weight for *_, weight in shape.bundles])
        self.by_bundle = np.cumsum(weights / weights.sum())
        self.homes = tuple(shape.sub_clusters)
        self.by_home = self._preferences()

    def jobs(self) -> Iterator[Submission]:
        left = self.shape.containers
        for number, at_s in zip(count(1), self._arrivals(), strict=False):
            if not self.shape.containers and at_s >= self.shape.horizon_s:
                return
            size = self.sizes.draw(self.rng["sizes"])
            if self.shape.containers:
                size = min(size, left)
                left -= size
            yield self._job(number, at_s, size)
            if self.shape.containers and not left:
                return

    def _arrivals(self) -> Iterator[float]:
        """A Poisson process whose rate follows the day: drawn at the highest rate, and thinned."""
        rng, highest = self.rng["arrivals"], 1 + self.shape.diurnal
        gap_s = 1 / (self.shape.jobs_per_s() * highest)
        at_s = 0.0
        while True:
            at_s += rng.exponential(gap_s)
            if rng.random() * highest < day_factor(self.shape, at_s):
                yield at_s

    def _job(self, number: int, at_s: float, size: int) -> Submission:
        rng = self.rng["queues"]
        leaf, user = _chosen(self.by_queue, rng), _chosen(self.by_user, rng)
        queue = self.leaves[leaf]
        home, nodes = self._place(leaf)
        return Submission(
            at_s=at_s,
            queue=queue,
            user=f"{queue.removeprefix('root.')}-u{user + 1}",
            groups=(self._group(size, nodes),),
            number=number,
            priority=int(rng.integers(self.shape.priorities)),
            home=home,
        )

    def _group(self, size: int, nodes: tuple[str, ...]) -> SubmittedGroup:
        memory_mib, vcores_milli, _ = self.shape.bundles[_chosen(self.by_bundle, self.rng["sizes"])]
        run_s = self.durations.draw(self.rng["runs"], size)
        gang = self.rng["gangs"].random() < self.shape.gang_share
        return SubmittedGroup(
            count=size,
            memory_mib=memory_mib,
            vcores_milli=vcores_milli,
            run_s=run_s,
            estimate_s=self._estimate_s(float(run_s.max())),
            gang=gang and size <= self.shape.gang_most,
            nodes=nodes,
            fails=self._fails(size),
        )

    def _estimate_s(self, longest_s: float) -> float:
        error = float(np.exp(self.shape.estimate_sigma * self.rng["estimates"].standard_normal()))
        factor = self.shape.estimate_factor
        return (
            longest_s * {"exact": 1.0, "factor": factor, "lognormal": factor * error, "none": 0.0}[self.shape.estimates]
        )

    def _fails(self, size: int) -> tuple[int, ...]:
        rng = self.rng["failures"]
        failed = int(rng.binomial(size, self.shape.failing))
        return tuple(sorted(rng.choice(size, failed, replace=False).tolist())) if failed else ()

    # --- where a job's data are

    def _preferences(self) -> np.ndarray:
        """(q, s) running sums of each queue's wishes for sub-clusters, in an order of its own."""
        weights = zipf(len(self.homes), self.shape.home_skew) if self.homes else np.empty(0)
        rng = self.rng["places"]
        return np.cumsum([rng.permutation(weights) for _ in self.leaves], axis=1)

    def _place(self, leaf: int) -> tuple[str, tuple[str, ...]]:
        rng = self.rng["places"]
        if not self.homes or rng.random() >= self.shape.local_share:
            return "", ()
        home = self.homes[_chosen(self.by_home[leaf], rng)]
        nodes = self.shape.sub_clusters[home]
        drawn = rng.integers(len(nodes), size=self.shape.wishes).tolist() if len(nodes) else []
        return home, tuple(dict.fromkeys(nodes[i] for i in drawn))


def _chosen(sums: np.ndarray, rng: np.random.Generator) -> int:
    """A position, by the running sums of the weights."""
    return min(int(np.searchsorted(sums, rng.random(), side="right")), len(sums) - 1)
