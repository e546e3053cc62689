"""Workloads drawn anew by seed, alike for all policies: intervals then tell what other arrivals would have changed.

Recorded jobs are resampled in blocks of time, as they depend on those shortly before them: a block bootstrap
(Künsch, "The Jackknife and the Bootstrap for General Stationary Observations", Annals of Statistics 17 (1989), with
blocks that do not overlap, after Carlstein, Annals of Statistics 14 (1986)). What is drawn so says how far the recorded
figures may be off, and nothing more of what is true: ``simulator.compare`` reckons with it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simulator.report import words
from simulator.workload import Submission

BLOCKS = 20  # into which the time of arrivals is cut


def resampled(jobs: Sequence[Submission], span_s: float, seed: int) -> list[Submission]:
    """The jobs of this seed, in order of time; of seed 0 as they came.

    The time from 0 to ``span_s`` has ``BLOCKS`` equal parts. In place of each
    one's jobs come those of a part drawn with replacement, at their distances
    from its beginning. What comes at 0 was there before, and stays.
    """
    if not seed or span_s <= 0:
        return list(jobs)
    length_s = span_s / BLOCKS
    parts: list[list[Submission]] = [[] for _ in range(BLOCKS)]
    for job in jobs:
        if job.at_s > 0:
            parts[min(int(job.at_s / length_s), BLOCKS - 1)].append(job)
    found = [job for job in jobs if job.at_s <= 0]
    for at, drawn in enumerate(np.random.default_rng(seed).integers(BLOCKS, size=BLOCKS).tolist()):
        later_s = (at - drawn) * length_s
        found += [replace(job, at_s=max(0.0, job.at_s + later_s)) for job in parts[drawn]]
    return sorted(found, key=lambda job: job.at_s)  # sums of floats may differ in their last digit


def redrawn(samples: Sequence[Sequence[Submission]], span_s: float, seed: int) -> list[Submission]:
    """The jobs of this seed: of each sample in turn as they came, and then drawn anew of each."""
    drawn, which = divmod(seed, len(samples))
    return resampled(samples[which], span_s, drawn)


def block_note(span_s: float, told: int = 1) -> str:
    """What a reader has to know of resampled jobs. told: seeds whose jobs came so."""
    first = "first" if told == 1 else f"first {told}"
    part = words.value(span_s / BLOCKS, "s")
    return (
        f"Of every seed but the {first} the jobs are drawn anew, alike for all policies: the time in which they came "
        f"has {BLOCKS} parts of {part}, and each is replaced by one that is drawn of these. "
        "Figures are those of the jobs as they came; how much the others differ tells how far these may be off."
    )
