"""The problem whose answer is the shares of one partition: from load rows and the policy's queues."""

from collections.abc import Sequence

import numpy as np

from controlplane.sharing.queues import FederationQueues
from controlplane.statestore.loads import Load, gathered
from scheduler.federation.divide import SharingProblem
from scheduler.shares.tree import all_nearest


def problem(queues: FederationQueues, partition: str, loads: Sequence[Load]) -> SharingProblem:
    """The partition as these sub-clusters see it. What no node of one could ever hold nobody is due there."""
    rows = [load.queues.get(partition) for load in loads]
    capacity, used, wanted = gathered(rows, [load.counts for load in loads], queues.index)
    for at, load in enumerate(loads):
        paths, vain = load.limited.in_vain(partition)
        if paths and load.counts:
            np.subtract.at(wanted[at], all_nearest(queues.index, paths), vain)
    wanted = np.maximum(wanted, 0)
    guaranteed, maximum, weight = queues.whole(partition, capacity.sum(axis=0))
    parts, most = queues.parts(partition, capacity)
    return SharingProblem(queues.hierarchy.parent, weight, guaranteed, maximum, parts, most, capacity, used, wanted)
