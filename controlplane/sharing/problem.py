"""The problem whose answer is the shares of one partition: from load rows and the policy's queues."""

from collections.abc import Sequence

from controlplane.sharing.queues import FederationQueues
from controlplane.statestore.loads import Load, gathered, startable
from scheduler.federation.divide import SharingProblem


def problem(queues: FederationQueues, partition: str, loads: Sequence[Load]) -> SharingProblem:
    """The partition as these sub-clusters see it. What no node of one could ever hold nobody is due there."""
    rows = [load.queues.get(partition) for load in loads]
    capacity, used, pending = gathered(rows, [load.counts for load in loads], queues.index)
    wanted = startable(pending, [load.limited for load in loads], partition, queues.index)
    guaranteed, maximum, weight = queues.whole(partition, capacity.sum(axis=0))
    parts, most = queues.parts(partition, capacity)
    return SharingProblem(queues.hierarchy.parent, weight, guaranteed, maximum, parts, most, capacity, used, wanted)
