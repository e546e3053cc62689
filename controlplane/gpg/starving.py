"""The GPG's duty of knowing since when queues starve."""

import numpy as np
import psycopg

from controlplane.sharing.problem import problem
from controlplane.sharing.queues import FederationQueues, in_force
from controlplane.statestore import loads, starving
from controlplane.statestore.membership import Post

EVERY_S = 5.0
GAP_S = 60.0  # a row that nobody has looked at for longer says nothing of the time between


class StarvingDuty:
    """Reads every load row and keeps a row for each queue that is below its guarantee and wants more."""

    def __init__(self, lease_s: float):
        self._lease_s = lease_s
        self._queues: FederationQueues | None = None

    def every_s(self) -> float:
        return EVERY_S

    def run(self, post: Post) -> None:
        self._queues = queues = in_force(post.connection, self._queues)
        if queues is None:
            return
        found = starving_queues(queues, post.connection)
        with post.connection.transaction():
            starving.put(post.connection, found, GAP_S)
            post.fence(self._lease_s)


def starving_queues(queues: FederationQueues, session: psycopg.Connection) -> dict[tuple[str, str], list[int]]:
    """(queue, partition) -> what it lacks of each resource."""
    known = [load for load in loads.read(session) if load.state not in loads.GONE]
    found: dict[tuple[str, str], list[int]] = {}
    for partition in queues.partitions:
        p = problem(queues, partition, known)
        used = queues.hierarchy.subtree_sums(p.used.sum(axis=0))
        lacks = starving.lacking(queues.hierarchy, p.guaranteed, p.maximum, used, p.wanted.sum(axis=0))
        for at in np.flatnonzero(lacks.any(axis=1)).tolist():
            found[queues.paths[at], partition] = lacks[at].tolist()
    return found
