"""Recorded jobs drawn anew: whole blocks of arrivals, always the same for a seed."""

from collections import Counter

import numpy as np
import pytest

from controlplane.whatif.redrawing import BLOCKS, resampled
from simulator.workload import Submission, SubmittedGroup, in_order

SPAN_S = 1000.0
LENGTH_S = SPAN_S / BLOCKS
GROUP = SubmittedGroup(1, 1, 1, np.array([1.0]))


def jobs() -> list[Submission]:
    """Three at the beginning, then three in each block."""
    early = [Submission(0.0, "root.a", "u", (GROUP,), n) for n in range(3)]
    later = [
        Submission(block * LENGTH_S + s, "root.a", "u", (GROUP,), 1000 + 10 * block + n)
        for block in range(BLOCKS) for n, s in enumerate((1.0, 7.5, 49.0))
    ]  # fmt: skip
    return early + later


def test_seed_0_is_what_was_recorded() -> None:
    assert resampled(jobs(), SPAN_S, 0) == jobs()
    at_once = [job for job in jobs() if not job.at_s]
    assert resampled(at_once, 0.0, 5) == at_once


@pytest.mark.parametrize("seed", range(1, 6))
def test_blocks_come_whole_at_other_times(seed: int) -> None:
    found = list(in_order(resampled(jobs(), SPAN_S, seed)))
    assert [job.number for job in found[:3]] == [0, 1, 2] and len(found) == len(jobs())
    assert found == resampled(jobs(), SPAN_S, seed)
    drawn = [job.number // 10 for job in found[3:]]
    assert drawn[::3] == drawn[1::3] == drawn[2::3] and len(set(drawn)) < BLOCKS
    for place in range(BLOCKS):
        came = [job.at_s - place * LENGTH_S for job in found[3 + 3 * place : 6 + 3 * place]]
        assert came == pytest.approx([1.0, 7.5, 49.0])


def test_each_block_is_as_likely_as_any_other() -> None:
    drawn = Counter(job.number for seed in range(1, 401) for job in resampled(jobs(), SPAN_S, seed) if job.at_s)
    counts = np.array(list(drawn.values()))
    assert len(counts) == 3 * BLOCKS and counts.sum() == 400 * 3 * BLOCKS
    assert np.abs(counts - 400).max() < 5 * np.sqrt(400)
