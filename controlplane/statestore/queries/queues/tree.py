"""The queue tree of the policy in force as arrays; read again when another version is in force."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from controlplane import heap
from controlplane.statestore.capacities import DEFAULT, QueueLimits, R, resolve, weights
from controlplane.statestore.models import PolicyVersion, Queue
from controlplane.statestore.nodesets import ordered
from controlplane.statestore.queries.looks import shared
from scheduler.core.nodeselection import Partition, partition_of_ask
from scheduler.federation.divide import SharesPolicy
from scheduler.preemption.policy import Reclaiming
from scheduler.registry import PREEMPTION, SHARES
from scheduler.shares.tree import QueueHierarchy, nearest

Json = dict[str, Any]
_SHARES: Json = {
    "policy": "gif",
    "parameters": {"interval_s": 2.0, "stale_s": 30.0},
}  # of documents older than the component
_PREEMPTION = "owed"


@dataclass(frozen=True, slots=True, eq=False)
class PolicyTree:
    """A policy version's q queues, parents known by position; they never change.

    There is one of each version, so it is compared as it is. weight: (q,)
    float64, nan where the policy gives none. shares: this component as the
    document has it. preemption: the policy of this one, of the cluster under
    "" and by name of sub-clusters that have their own.
    """

    version: int
    rows: list[Queue]
    hierarchy: QueueHierarchy
    index: dict[str, int]
    partitions: tuple[Partition, ...]
    limits: dict[str, QueueLimits]
    weight: np.ndarray
    shares: Json = field(default_factory=dict)
    preemption: dict[str, str] = field(default_factory=dict)

    def at(self, path: str) -> int:
        """Position of a path, or of its nearest ancestor when the queue is gone."""
        return nearest(self.index, path)

    def below(self, at: int) -> list[int]:
        """Positions of a queue's children."""
        found: list[int] = np.flatnonzero(self.hierarchy.parent == at).tolist()
        return found

    def preemption_in(self, sub_cluster: str) -> Reclaiming:
        """The preemption policy that holds in this sub-cluster."""
        chosen = self.preemption.get(sub_cluster) or self.preemption[""]
        return PREEMPTION.get(chosen) or PREEMPTION[_PREEMPTION]

    @property
    def sharing(self) -> SharesPolicy:
        """How shares are determined; as without any word where a release that is gone had a name for it."""
        return SHARES.get(str(self.shares["policy"])) or SHARES[_SHARES["policy"]]

    def weights(self, partition: str, guaranteed: np.ndarray) -> np.ndarray:
        """(q,) float64, those the policy gives and those that follow from guarantees (q, R)."""
        return weights(self.hierarchy, self.limits[partition], self.weight, guaranteed)


MANY = 500  # queues
_known: dict[str, PolicyTree] = {}


@shared
def in_force() -> PolicyTree | None:
    """The tree of the active version. One query, two when it is another version."""
    parts = ("partitions", "components__shares", "components__preemption__policy", "sub_clusters")
    columns = ("pk", *(f"document__{part}" for part in parts))
    active = PolicyVersion.objects.filter(active=True).values_list(*columns).first()
    if active is None:
        return None
    known = _known.get("tree")
    if known is None or known.version != active[0]:
        known = _known["tree"] = _read(*active)
        if len(known.rows) >= MANY:
            heap.settle()  # it stays, and the collector would walk all of it every other second
    return known


def asked_partitions() -> Callable[[str, str | None], str]:
    """Of a queue's path and what an ask says: the partition that the ask goes to, by the policy in force."""
    tree = in_force()
    if tree is None:
        return lambda queue, wished: DEFAULT
    return lambda queue, wished: partition_of_ask(tree.partitions, wished, tree.rows[tree.at(queue)].default_partition)


def guaranteed(amounts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What each queue of the policy in force is guaranteed of these capacities by partition: (R,) int64, by path."""
    tree = in_force()
    if tree is None:
        return {}
    total = np.zeros((len(tree.rows), R), np.int64)
    for name, capacity in amounts.items():
        if name in tree.limits:
            total += resolve(tree.hierarchy, tree.limits[name], capacity).guaranteed
    return {q.path: total[i] for i, q in enumerate(tree.rows)}


def _read(version: int, partitions: Any, shares: Any, preemption: Any, sub_clusters: Any) -> PolicyTree:
    rows = sorted(Queue.objects.filter(version_id=version), key=lambda q: q.path.split("."))
    stored = [q.capacities for q in rows]
    named = ordered(partitions)
    return PolicyTree(
        version,
        rows,
        QueueHierarchy.of([q.path for q in rows], [q.parent_path for q in rows]),
        {q.path: at for at, q in enumerate(rows)},
        named,
        {name: QueueLimits.of(stored, name) for name in (*(p.name for p in named), DEFAULT)},
        np.array([np.nan if q.weight is None else q.weight for q in rows]),
        {
            **_SHARES,
            **(shares or {}),
            "parameters": {**_SHARES["parameters"], **((shares or {}).get("parameters") or {})},
        },
        {"": preemption or _PREEMPTION} | _own_preemption(sub_clusters or {}),
    )


def _own_preemption(sub_clusters: Json) -> dict[str, str]:
    own = {
        name: ((each.get("components") or {}).get("preemption") or {}).get("policy")
        for name, each in sub_clusters.items()
    }
    return {name: policy for name, policy in own.items() if policy}
