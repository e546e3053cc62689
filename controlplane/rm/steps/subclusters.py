"""What a home RM knows of the other sub-clusters: their load rows, and which nodes they own."""

from dataclasses import dataclass, field

import numpy as np

from controlplane.rm.memory.jobs import GroupEntry
from controlplane.rm.memory.kinds import need_of, own_kinds
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.view import queues_of
from controlplane.rm.ports import Store
from controlplane.rm.steps.headroom import Headroom
from controlplane.statestore.loads import Load
from scheduler.core.snapshot import Queues
from scheduler.federation.feasible import ANY_NUMBER, GroupNeed, NodeKind, NodeKinds
from scheduler.federation.split import ProxyPolicy, SplitTargets
from scheduler.shares.tree import upwards
from wire.resources import AXES, NOTHING, amounts

R = len(AXES)
NONE = np.zeros(R, np.int64)
NODES_S = 30.0  # between two readings of others' nodes, and only while somebody needs certain ones
SOON_S = 2.0  # the same, where they are others than before
SENT_S = 1.5  # what was handed over counts as taken for so long; then the load row says so itself


@dataclass(slots=True)
class RemoteSubClusters:
    """``loads``: of other sub-clusters that ever had a leader, by number. own: that of this one, once it is told."""

    sub: int
    loads: dict[int, Load] = field(default_factory=dict)
    own: Load | None = None
    _unled: dict[int, float] = field(default_factory=dict)  # since when nobody leads it
    _sent: list[tuple[float, int, np.ndarray]] = field(default_factory=list)
    _taken: dict[int, np.ndarray] = field(default_factory=dict)  # the sum of it, by sub-cluster
    _kinds: NodeKinds = field(default_factory=lambda: NodeKinds(()))
    _kinds_at: float = -1e9
    _kinds_of: tuple[object, ...] = ()
    _own: tuple[tuple[int, int], NodeKinds] = ((-1, -1), NodeKinds(()))
    _now: float = 0.0
    _headroom: dict[int, tuple[np.ndarray, Headroom]] = field(default_factory=dict)  # by partition, home's beside it
    _free: dict[tuple[int, tuple[int, ...]], np.ndarray] = field(default_factory=dict)  # by partition and limits
    _queues: dict[int, Queues] = field(default_factory=dict)  # by partition
    _store: Store | None = None

    def refresh(self, store: Store, m: Memory, now: float) -> None:
        """Read the load rows anew."""
        found = store.loads(queues=len(m.partitions) > 1)
        names = {load.name: load.sub_cluster for load in found}
        m.queues.resolve_proxies(names)
        self.loads = {load.sub_cluster: load for load in found if load.sub_cluster != self.sub}
        self.own = next((load for load in found if load.sub_cluster == self.sub), None)
        for sub, load in self.loads.items():
            if load.led:
                self._unled.pop(sub, None)
            else:
                self._unled.setdefault(sub, now)
        sent, self._sent, self._taken = self._sent, [], {}
        for at, sub, amount in sent:
            if now - at < SENT_S:
                self.sent(sub, amount, at)
        self._store, self._now = store, now
        self._headroom.clear(), self._free.clear(), self._queues.clear()

    @property
    def closed_here(self) -> bool:
        """Whether operators empty this one."""
        return self.own is not None and self.own.state == "draining"

    def load(self, sub: int, queue: str) -> float:
        """Demand over capacity to jobs of the queue, as last told; endless where nobody has told it."""
        row = self.own if sub == self.sub else self.loads.get(sub)
        return row.load(queue) if row is not None else np.inf

    def name(self, sub: int) -> str:
        return self.loads[sub].name if sub in self.loads else f"sub-cluster {sub}"

    def gone_s(self, sub: int, now: float) -> float:
        """For how long nobody has led the sub-cluster."""
        return now - self._unled.get(sub, now) if sub in self.loads else np.inf

    def closed(self, sub: int) -> bool:
        """Whether operators keep new work away from it."""
        return sub not in self.loads or self.loads[sub].state != "running"

    def usable(self, sub: int) -> bool:
        """Whether it can be asked to start anything now."""
        load = self.loads[sub]
        return load.counts and load.state == "running" and load.nodes_up > 0

    def sent(self, sub: int, amount: np.ndarray, now: float) -> None:
        """``amount`` (R,) was handed over there."""
        self._sent.append((now, sub, amount))
        self._taken[sub] = self._taken.get(sub, NONE) + amount

    def room(self, m: Memory, partition: int, queue: int) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """What is free for asks of the partition by the queue at that position: at home, in each usable sub-cluster.

        As the rows told it, without what was handed over since then.
        """
        home = np.minimum(self.headroom(m, partition)[0], self.home_left(m, partition, queue))
        return home, self.elsewhere(m, partition, self.binding(m, partition, queue))

    def elsewhere(self, m: Memory, partition: int, binding: tuple[int, ...]) -> dict[int, np.ndarray]:
        """The second of ``room``, for all queues of the same limits."""
        headroom = self.headroom(m, partition)[1]
        if (free := self._free.get((partition, binding))) is None:
            free = self._free[partition, binding] = headroom.of_queue(binding)
        taken = np.array([self._taken.get(sub, NONE) for sub in headroom.subs], np.int64).reshape(-1, R)
        return dict(zip(headroom.subs, np.maximum(free - taken, 0), strict=True))

    def binding(self, m: Memory, partition: int, queue: int) -> tuple[int, ...]:
        """Which limits that keep others waiting elsewhere are those of the queue as well."""
        return self.headroom(m, partition)[1].binding(m.queues.paths[queue])

    def headroom(self, m: Memory, partition: int) -> tuple[np.ndarray, Headroom]:
        """What is free at home and elsewhere, whichever queue asks for it."""
        if partition not in self._headroom:
            usable = [load for sub, load in self.loads.items() if self.usable(sub)]
            self._headroom[partition] = self.home_free(m, partition), Headroom.of(usable, m.partitions[partition])
        return self._headroom[partition]

    def home_left(self, m: Memory, partition: int, queue: int) -> np.ndarray:
        """What the maxima of a queue and of those above it leave it here: (R,) int64. queue: its position."""
        if partition not in self._queues:
            self._queues[partition] = queues_of(m, partition)
        queues = self._queues[partition]
        above = upwards(queues.parent, queue)
        left: np.ndarray = (queues.maximum[above] - queues.used[above]).min(axis=0)
        return left

    def home_free(self, m: Memory, partition: int) -> np.ndarray:
        """What is free here on the partition's own nodes that take containers: (R,) int64."""
        nodes, own = m.nodes_of(partition)
        table = m.nodes.view()
        free: np.ndarray = (own & table.open[nodes]) @ np.maximum(table.free.take(nodes, axis=0), 0)
        return free

    def split_targets(
        self, m: Memory, group: GroupEntry, policy: ProxyPolicy, fits: int, free: dict[int, np.ndarray]
    ) -> tuple[list[int], SplitTargets]:
        """Where the group's tasks may go: home first. fits: tasks that could start at home now."""
        subs = [self.sub, *free]
        nodes = self.matching(m, group, subs)
        headroom = [fits, *(fitting(free[sub], group.shape) for sub in subs[1:])]
        usable = nodes > 0
        usable[0] &= not self.closed_here
        weights = np.maximum(policy.vector(subs), 0.0)
        return subs, SplitTargets(usable & policy.reach(subs), weights, np.array(headroom, np.int64), 0)

    def owned(self, m: Memory, group: GroupEntry, subs: list[int]) -> np.ndarray | None:
        """How much of the group's demand names nodes or racks of each sub-cluster; None when it names none."""
        constraints = group.constraints
        if not (constraints.near or constraints.racks):
            return None
        here = sum(row.name in constraints.near or row.rack in constraints.racks for row in m.nodes.rows)
        named = GroupNeed(1, NOTHING, False, "", True, constraints.near, constraints.racks)
        there = {sub: n // ANY_NUMBER for sub, n in self.kinds(m).containers(named).items()}
        owned = np.array([here, *(there.get(sub, 0) for sub in subs[1:])], np.int64)
        return owned * group.run.wanted if owned.any() else None

    def matching(self, m: Memory, group: GroupEntry, subs: list[int]) -> np.ndarray:
        """Whether each sub-cluster could hold the group at all: (s,) int64 of containers; 1 where any could."""
        constraints, need = group.constraints, need_of(m, group)
        names_any = constraints.node_labels or (constraints.strict and (constraints.near or constraints.racks))
        here = self.held_here(m, need)
        if here and not names_any and not constraints.gang:
            return np.ones(len(subs), np.int64)  # nodes of others are hardly all smaller than ours
        there = self.kinds(m).containers(need)
        found = np.array([here, *(there.get(sub, 0) for sub in subs[1:])], np.int64)
        return np.where(found >= (group.run.wanted if constraints.gang else 1), found, 0)

    def held_here(self, m: Memory, need: GroupNeed) -> int:
        """How many containers of the group the nodes here could hold at once."""
        return self.own_kinds(m).containers(need).get(self.sub, 0)

    def own_kinds(self, m: Memory) -> NodeKinds:
        """The nodes here."""
        version = (m.nodes.labels_version, m.queues.version)
        if self._own[0] != version:
            self._own = version, own_kinds(m, self.sub)
        return self._own[1]

    def kinds(self, m: Memory) -> NodeKinds:
        """The nodes of others; read again after ``NODES_S``, or once others have told that they have more or fewer."""
        others = [(load.sub_cluster, load.nodes_up, *load.capacity.tolist()) for load in self.loads.values()]
        of = (m.queues.version, *others)
        old = self._now - self._kinds_at
        if (old >= NODES_S or (of != self._kinds_of and old >= SOON_S)) and self._store is not None:
            rows = self._store.places_elsewhere()
            kinds = (NodeKind(row.sub_cluster_id, row.name, row.rack, row.labels, amounts(row[4:])) for row in rows)
            self._kinds = NodeKinds(kinds, m.queues.partitions)
            self._kinds_at, self._kinds_of = self._now, of
        return self._kinds


def fitting(free: np.ndarray, shape: np.ndarray) -> int:
    """How many containers of ``shape`` (R,) fit into ``free`` (R,), as if it were one node."""
    needs = shape > 0
    return max(0, int((free[needs] // shape[needs]).min())) if needs.any() else 0
