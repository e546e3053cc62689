"""The problem whose answer is the shares of one partition: from load rows and the policy's queues."""

from collections.abc import Sequence

import numpy as np

from controlplane.sharing.queues import FederationQueues
from controlplane.statestore.capacities import R
from controlplane.statestore.loads import Load, PartitionLoad
from scheduler.federation.divide import SharingProblem

SILENT_S = 15.0  # a leader whose row is older starts nothing


def problem(queues: FederationQueues, partition: str, loads: Sequence[Load]) -> SharingProblem:
    """The partition as these sub-clusters see it.

    Where nobody leads nothing starts, so what is used there is all there is.
    """
    s, q = len(loads), len(queues.paths)
    capacity = np.zeros((s, R), np.int64)
    used, wanted = np.zeros((2, s, q, R), np.int64)
    for at, load in enumerate(loads):
        part = load.queues.get(partition)
        if part is None:
            continue
        _enter(queues, part, used[at], wanted[at])
        capacity[at] = part.capacity
        if not load.led or load.age_s > SILENT_S:
            wanted[at], capacity[at] = 0, 0
    capacity = np.maximum(capacity, used.sum(axis=1))  # nodes may be lent, or overfull
    guaranteed, maximum, weight = queues.whole(partition, capacity.sum(axis=0))
    parts, most = queues.parts(partition, capacity)
    return SharingProblem(queues.shape.parent, weight, guaranteed, maximum, parts, most, capacity, used, wanted)


def _enter(queues: FederationQueues, part: PartitionLoad, used: np.ndarray, wanted: np.ndarray) -> None:
    rows = np.array([queues.at(path) for path in part.paths], np.int64)
    np.add.at(used, rows, part.used)
    np.add.at(wanted, rows, part.pending)
