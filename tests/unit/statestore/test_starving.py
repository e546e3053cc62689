"""Which queues starve: below their guarantee of everything that they want, while they could start more."""

import numpy as np
import pytest

from controlplane.statestore.starving import lacking
from scheduler.shares.tree import QueueHierarchy

PATHS = ("root", "root.prod", "root.prod.etl", "root.dev")
QUEUES = QueueHierarchy.of(PATHS, [path.rpartition(".")[0] for path in PATHS])
ALL = (8192, 8000, 2)  # MiB, millicores, GPUs
HALF = (4096, 4000, 1)
ETL = ["root.prod", "root.prod.etl"]

Shape = tuple[int, int, int]


def lacks(guaranteed: Shape, maximum: Shape, used: Shape, wants: Shape) -> dict[str, list[int]]:
    """What is lacking where ``root.prod.etl`` stands so, and ``root.prod`` is guaranteed as much; by queue."""
    guarantees, maxima, holds, demand = (np.zeros((len(PATHS), len(ALL)), np.int64) for _ in range(4))
    guarantees[1:3], holds[:3], demand[2] = guaranteed, used, wants
    maxima[:], maxima[2] = ALL, maximum
    found = lacking(QUEUES, guarantees, maxima, holds, demand)
    return {path: row.tolist() for path, row in zip(PATHS, found, strict=True) if row.any()}


def test_who_is_below_in_all_it_wants_lacks_as_much_as_it_is_due_and_so_does_its_parent() -> None:
    assert lacks(HALF, ALL, (1024, 1000, 0), (8192, 1000, 0)) == {path: [3072, 1000, 0] for path in ETL}


@pytest.mark.parametrize(
    ("used", "wants", "why"),
    [
        ((1024, 4000, 0), (512, 1000, 0), "it has its guarantee of cores, and memory follows them"),
        ((1024, 3900, 0), (512, 1000, 0), "less than a container is missing"),
        ((1024, 1000, 0), (0, 0, 0), "it wants nothing"),
    ],
)
def test_who_has_what_is_due_of_something_or_wants_nothing_does_not_starve(used: Shape, wants: Shape, why: str) -> None:
    assert lacks(HALF, ALL, used, wants) == {}, why


@pytest.mark.parametrize(("at", "maximum"), [(0, (1024, 8000, 2)), (1, (8192, 4000, 2))])
def test_who_holds_all_it_may_of_what_every_container_needs_does_not_starve(at: int, maximum: Shape) -> None:
    """Neither does its parent, though it could hold more."""
    used = (1024, 4000, 0)
    guaranteed = tuple(max(used[k], HALF[k]) + (4000 if k == at else 0) for k in range(3))
    assert lacks(guaranteed, maximum, used, (512, 1000, 0)) == {}


def test_who_holds_the_whole_clusters_cores_lacks_no_memory() -> None:
    assert lacks((5400, 2400, 0), ALL, (1024, 8000, 0), (896, 7000, 0)) == {}


def test_who_has_all_the_gpus_it_may_have_starves_for_the_rest() -> None:
    found = lacks(HALF, (8192, 8000, 1), (1024, 1000, 1), (2048, 2000, 1))
    assert found == {path: [2048, 2000, 0] for path in ETL}
