"""The queue tree of the policy in force, as arrays."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from contract.policy.components import Components, stored
from controlplane.policy.federation import proxy_policies
from controlplane.policy.queuerules import backfill_rules
from controlplane.rm.memory.shares import KnownShares
from controlplane.rm.rows import CapacityRow, PolicyRow, QueueRow
from controlplane.statestore.capacities import (
    QueueLimits,
    R,
    resolve,
    resolve_part,
    unlimited,
    weights,
)
from controlplane.statestore.nodesets import capacity_of, ordered
from scheduler.core.snapshot import Ordering, Queues
from scheduler.registry import BACKFILL
from scheduler.shares.tree import QueueHierarchy, nearest

UNLIMITED = np.iinfo(np.int64).max
_Resolved = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


class QueueTree:
    """The queues of one policy version, by position: parents before children.

    user_maximum: (q,) float64, the share of the queue's maximum that one user
    may hold. max_am_share: (q,) float64. max_running_jobs (of the subtree),
    max_running_jobs_per_user (of a leaf): (q,) int64, ``UNLIMITED`` without a
    limit. stopped: (q,) bool. backfill: (q,) int8, None where no queue does.
    default_partition: names. partitions: in the order in which nodes are
    matched. elsewhere: per partition, the capacity (R,) of the sub-clusters
    before and after this one, of which limits are a part; without it this one
    is the whole federation. components: the document's, complete, or those of
    another version that is being rolled out here. target: the version they are of; pushed_us: since when they are.
    proxy: the AM-RM proxy's policy by path. wander: (q,) bool, whose asks go
    elsewhere although there is room at home. relax_s: (q,) float64, how long asks wait
    at home before they may. proxy_interval_s: between two looks at what waits where.
    """

    def __init__(self, version: int, rows: Sequence[QueueRow], policy: PolicyRow | None = None):
        self.version = version
        rows = sorted(rows or [QueueRow("root", "")], key=lambda row: row.path.split("."))
        policy = policy or PolicyRow(version)
        self.paths = [row.path for row in rows]
        self.index = {path: at for at, path in enumerate(self.paths)}
        self.hierarchy = QueueHierarchy.of(self.paths, [row.parent_path for row in rows])
        self.parent = self.hierarchy.parent
        self.leaf = _column(rows, "leaf", np.bool_)
        self.stopped = np.array([row.state == "stopped" for row in rows], np.bool_)
        self.ordering = np.array([Ordering[row.ordering.upper()] for row in rows], np.int8)
        self.preemptable = self.hierarchy.path_combined(_column(rows, "preemptable", np.bool_), np.logical_and)
        self.user_maximum = _column(rows, "user_maximum", np.float64)
        self.max_am_share = _column(rows, "max_am_share", np.float64)
        self.max_running_jobs = _counts(rows, "max_running_jobs")
        self.max_running_jobs_per_user = _counts(rows, "max_running_jobs_per_user")
        self.default_partition = [row.default_partition for row in rows]
        self.weight = np.array([np.nan if row.weight is None else row.weight for row in rows])
        self.elsewhere: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.shares = KnownShares()  # what the GPG assigned; the memory's own one, which outlives a policy version
        self.shared_out_us = 0  # when ``elsewhere`` was taken in
        self._capacities = [row.capacities for row in rows]
        self._limits: dict[str, QueueLimits] = {}
        self._unlimited: dict[str, np.ndarray] = {}
        self._views: dict[str, tuple[bytes, _Resolved]] = {}
        self.partitions = ordered(policy.partitions)
        self.components: Components = stored(policy.components)
        self.target, self.pushed_us = policy.target, policy.pushed_us
        self._policy = policy
        self._sub_clusters: dict[str, int] | None = None
        self.resolve_proxies({})
        rule = backfill_rules(policy.queues, self.components.placement.parameters.backfill)
        backfill = np.array([BACKFILL[rule(path)] for path in self.paths], np.int8)
        self.backfill = backfill if backfill.any() else None

    def resolve_proxies(self, sub_clusters: dict[str, int]) -> None:
        """Work out each queue's proxy policy. sub_clusters: numbers by name, of all there are."""
        if sub_clusters != self._sub_clusters:
            self._sub_clusters = sub_clusters
            document = {"queues": self._policy.queues}
            self.proxy = proxy_policies(document, sub_clusters, self._policy.components or {})
            policies = [self.proxy(path) for path in self.paths]
            self.no_home_preference = np.array([not policy.prefer_home for policy in policies], np.bool_)
            self.relax_s = np.array([policy.relax_after_s for policy in policies])
            self.proxy_interval_s = min(policy.interval_s for policy in policies)

    @property
    def document(self) -> dict[str, Any]:
        """What routing goes by, as a policy document says it: this sub-cluster's components."""
        return {"queues": self._policy.queues, "components": self._policy.components or {}}

    def at(self, path: str) -> int:
        """Position of ``path``, or of its nearest ancestor when the queue is gone."""
        return nearest(self.index, path)

    def share_out(self, others: Iterable[CapacityRow]) -> None:
        """Take note of what the federation's other sub-clusters have: nodes, or sums when there are no partitions."""
        sides: dict[bool, list[tuple[Any, ...]]] = {True: [], False: []}
        for before, *node in others:
            sides[before].append(tuple(node))
        lower, higher = (capacity_of(self.partitions, sides[side]) for side in (True, False))
        self.elsewhere = {name: (lower[name], higher[name]) for name in lower}

    def view(self, partition: str, capacity: np.ndarray, used: np.ndarray) -> Queues:
        """The arrays a plan sees of a partition whose nodes in this sub-cluster have ``capacity`` (R,).

        used: (q, R) int64, what each queue itself holds of the partition here.
        """
        guaranteed, maximum, weight, whole = self._resolved(partition, capacity)
        assigned, owed = self.shares.of(self, partition, guaranteed, maximum), None
        if assigned is not None:
            guaranteed, owed, maximum = assigned
        elsewhere = None if whole is None else (maximum <= 0) & (whole > 0)
        return Queues(
            self.paths, self.parent, guaranteed, maximum, self.hierarchy.subtree_sums(used), weight, self.ordering,
            self.preemptable, owed=owed, settled=self.shares.settled(self), backfill=self.backfill,
            elsewhere=elsewhere,
        )  # fmt: skip

    def whole(self, partition: str, capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(guaranteed, maximum) of each queue in all sub-clusters, of which this one has ``capacity`` (R,)."""
        before, after = self.elsewhere.get(partition, (np.zeros(R, np.int64),) * 2)
        return resolve(self.hierarchy, self._limits_of(partition), before + capacity + after)

    def unlimited(self, partition: str) -> np.ndarray:
        """What each queue may hold all of, however little the partition has: (q, R) bool."""
        if partition not in self._unlimited:
            self._unlimited[partition] = unlimited(self.hierarchy, self._limits_of(partition))
        return self._unlimited[partition]

    def _resolved(self, partition: str, capacity: np.ndarray) -> _Resolved:
        """(guaranteed, maximum, weight, maximum in all sub-clusters where there are others), kept until a capacity
        changes; callers must not write to them."""
        before, after = self.elsewhere.get(partition, (np.zeros(R, np.int64),) * 2)
        key = np.concatenate((capacity, before, after)).tobytes()
        known = self._views.get(partition)
        if known is None or known[0] != key:
            limits, whole = self._limits_of(partition), None
            if (before + after).any():
                least, most = resolve_part(self.hierarchy, limits, capacity, before, before + capacity + after)
                whole = self.whole(partition, capacity)[1]
            else:
                least, most = resolve(self.hierarchy, limits, capacity)
            weight = weights(self.hierarchy, limits, self.weight, least)
            known = self._views[partition] = (key, (least, most, weight, whole))
        return known[1]

    def _limits_of(self, partition: str) -> QueueLimits:
        if partition not in self._limits:
            self._limits[partition] = QueueLimits.of(self._capacities, partition)
        return self._limits[partition]


def _column(rows: Sequence[QueueRow], name: str, kind: Any) -> np.ndarray:
    return np.array([getattr(row, name) for row in rows], kind)


def _counts(rows: Sequence[QueueRow], name: str) -> np.ndarray:
    return np.array([UNLIMITED if (most := getattr(row, name)) is None else most for row in rows], np.int64)
