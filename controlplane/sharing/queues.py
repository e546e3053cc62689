"""The queue tree of the policy in force over the whole federation, as arrays."""

from typing import Any, NamedTuple

import numpy as np
import psycopg

from contract.policy.components import Components, stored
from contract.policy.subclusters import effective_components, own_components
from controlplane.statestore.capacities import DEFAULT, Limits, QueueLimits, by_size, resolve, weights
from controlplane.statestore.nodesets import ordered
from scheduler.registry import PREEMPTION
from scheduler.shares.tree import QueueHierarchy

_ACTIVE = "SELECT id FROM statestore_policyversion WHERE active"
_PARTS = ("partitions", "components", "sub_clusters")
_DOCUMENT = """
SELECT document->'partitions', document->'components', document->'sub_clusters'
  FROM statestore_policyversion WHERE id = %s
"""
_QUEUES = "SELECT path, parent_path, capacities, weight FROM statestore_queue WHERE version_id = %s"


class Row(NamedTuple):
    """One of ``_QUEUES``. capacities: as ``QueueLimits.of`` takes them. weight: None where the guarantee says it."""

    path: str
    parent: str
    capacities: dict[str, Any]
    weight: float | None


class FederationQueues:
    """q queues of one policy version, parents before children; partitions by name, the default one last."""

    def __init__(self, version: int, rows: list[Row], settings: dict[str, Any]):
        rows = sorted(rows or [Row("root", "", {}, None)], key=lambda row: row.path.split("."))
        self.version = version
        self.paths = [row.path for row in rows]
        self.index = {path: at for at, path in enumerate(self.paths)}
        self.hierarchy = QueueHierarchy.of(self.paths, [row.parent for row in rows])
        self.partitions = [p.name for p in ordered(settings.get("partitions"))] + [DEFAULT]
        self.components: Components = stored(settings.get("components"))
        self._settings = settings
        self._capacities = [row.capacities for row in rows]
        self._weight = np.array([np.nan if row.weight is None else row.weight for row in rows])
        self._limits: dict[str, QueueLimits] = {}

    def takes_back(self, sub_cluster: str) -> bool:
        """Whether what was lent is taken back in this sub-cluster; by what its part of the document says."""
        whole, own = self._settings.get("components"), own_components(self._settings.get("sub_clusters"), sub_cluster)
        return PREEMPTION[stored(effective_components(whole, whole, own)).preemption.policy].stops

    def limits(self, partition: str) -> QueueLimits:
        """What the queues may claim of the partition."""
        if partition not in self._limits:
            self._limits[partition] = QueueLimits.of(self._capacities, partition)
        return self._limits[partition]

    def whole(self, partition: str, capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(guaranteed, maximum (q, R) int64, weight (q,)) where the whole federation has ``capacity`` (R,)."""
        limits = self.limits(partition)
        guaranteed, maximum = resolve(self.hierarchy, limits, capacity)
        return guaranteed, maximum, weights(self.hierarchy, limits, self._weight, guaranteed)

    def parts(self, partition: str, capacity: np.ndarray) -> Limits:
        """(s, q, R) by size: as RMs split them by themselves. capacity: (s, R)."""
        return by_size(self.hierarchy, self.limits(partition), capacity)


def in_force(session: psycopg.Connection, known: FederationQueues | None) -> FederationQueues | None:
    """The queues of the active version, ``known`` when that is it; None without any."""
    active = session.execute(_ACTIVE).fetchone()
    if active is None:
        return None
    (version,) = active
    if known is not None and known.version == version:
        return known
    document = session.execute(_DOCUMENT, active).fetchone() or (None,) * len(_PARTS)
    rows = [Row._make(row) for row in session.execute(_QUEUES, active).fetchall()]
    return FederationQueues(version, rows, dict(zip(_PARTS, document, strict=True)))
