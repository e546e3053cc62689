"""The queue tree of the policy in force over the whole federation, as arrays."""

from typing import Any

import numpy as np
import psycopg

from contract.policy.components import Components, stored
from contract.policy.subclusters import held, own_components
from controlplane.statestore.capacities import DEFAULT, QueueLimits, by_size, resolve, weights
from controlplane.statestore.nodesets import ordered
from scheduler.registry import PREEMPTION
from scheduler.shares.tree import TreeShape

_ACTIVE = "SELECT id FROM statestore_policyversion WHERE active"
_PARTS = ("partitions", "components", "sub_clusters")
_DOCUMENT = """
SELECT document->'partitions', document->'components', document->'sub_clusters'
  FROM statestore_policyversion WHERE id = %s
"""
_QUEUES = "SELECT path, parent_path, capacities, weight FROM statestore_queue WHERE version_id = %s"


Row = tuple[str, str, dict[str, Any], float | None]  # path, the parent's, capacities, weight


class FederationQueues:
    """q queues of one policy version, parents before children; partitions by name, the default one last."""

    def __init__(self, version: int, rows: list[Row], settings: dict[str, Any]):
        rows = sorted(rows or [("root", "", {}, None)], key=lambda row: row[0].split("."))
        self.version = version
        self.paths = [row[0] for row in rows]
        self.index = {path: at for at, path in enumerate(self.paths)}
        self.shape = TreeShape.of(self.paths, [row[1] for row in rows])
        self.partitions = [p.name for p in ordered(settings.get("partitions"))] + [DEFAULT]
        self.components: Components = stored(settings.get("components"))
        self._settings = settings
        self._capacities = [row[2] for row in rows]
        self._weight = np.array([np.nan if row[3] is None else row[3] for row in rows])
        self._limits: dict[str, QueueLimits] = {}

    def takes_back(self, sub_cluster: str) -> bool:
        """Whether what was lent is taken back in this sub-cluster; by what its part of the document says."""
        whole, own = self._settings.get("components"), own_components(self._settings.get("sub_clusters"), sub_cluster)
        return PREEMPTION[stored(held(whole, whole, own)).preemption.policy].stops

    def limits(self, partition: str) -> QueueLimits:
        """What the queues may claim of the partition."""
        if partition not in self._limits:
            self._limits[partition] = QueueLimits.of(self._capacities, partition)
        return self._limits[partition]

    def whole(self, partition: str, capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(guaranteed, maximum (q, R) int64, weight (q,)) where the whole federation has ``capacity`` (R,)."""
        limits = self.limits(partition)
        guaranteed, maximum = resolve(self.shape, limits, capacity)
        return guaranteed, maximum, weights(self.shape, limits, self._weight, guaranteed)

    def parts(self, partition: str, capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(guaranteed, maximum (s, q, R) int64) by size: as RMs split them by themselves. capacity: (s, R)."""
        return by_size(self.shape, self.limits(partition), capacity)


def in_force(session: psycopg.Connection, known: FederationQueues | None) -> FederationQueues | None:
    """The queues of the active version, ``known`` when that is it; None without any."""
    row = session.execute(_ACTIVE).fetchone()
    if row is None:
        return None
    if known is not None and known.version == row[0]:
        return known
    document = session.execute(_DOCUMENT, row).fetchone() or (None,) * len(_PARTS)
    rows = session.execute(_QUEUES, row).fetchall()
    return FederationQueues(row[0], rows, dict(zip(_PARTS, document, strict=True)))
