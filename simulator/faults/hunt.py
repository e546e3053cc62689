"""Many lives, one after the other or on several cores, and how many it takes to find a planted bug."""

import multiprocessing
from collections.abc import Iterable, Iterator

from simulator.faults import life, worker
from simulator.faults.bugs import Bug
from simulator.faults.life import LifeOutcome


def lives(seeds: Iterable[int], processes: int = 1) -> Iterator[LifeOutcome]:
    """What came of each seed, in no particular order with several processes. Of lives in which all is well no trace."""
    if processes == 1:
        yield from map(worker.run_life, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(processes, worker.setup_django) as pool:
        yield from pool.imap_unordered(worker.run_life, seeds, chunksize=8)


def found_after(bug: Bug, seeds: Iterable[int]) -> LifeOutcome | None:
    """The first of these lives that finds the planted bug; None when none does."""
    with bug.planted():
        return next((found for found in map(life.run, seeds) if found.violation), None)
