"""The RM's nodes: what they have, what is allocated on them, and what they last said."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.memory.table import Table, column
from controlplane.rm.rows import NodeRow
from scheduler.core.nodeselection import NodePredicate
from scheduler.core.snapshot import Nodes
from wire.resources import AXES
from wire.states import NodeState
from wire.status import MAX_ENTRIES

if TYPE_CHECKING:
    from controlplane.rm.memory.windows import Window

R = len(AXES)
GPUS = AXES.index("gpus")
# A status tells of so many and no more; the rest of its room is for containers that ended and are to be acknowledged.
CONTAINERS_MAX = MAX_ENTRIES - 512
NEVER_US = 2**62  # later than any moment
_UP = int(NodeState.UP)  # comparing a column with a member of an enumeration takes five times as long


def chosen(chooses: NodePredicate, rows: Sequence[NodeRow]) -> np.ndarray:
    """Which of these nodes are meant: (n,) bool."""
    return np.fromiter((chooses(row.name, row.rack, row.labels) for row in rows), np.bool_, len(rows))


class NodeTable(Table):
    """A row per node; a node keeps its position while the leader leads.

    capacity, used: (n, R) int64. gpu_held: bit mask of device ids that containers
    have, those that the node no longer declares among them.
    acknowledge_us: when it should have heard that ends it reported are known, ``NEVER_US`` once it was told.
    seen: answered time (see ``liveness``) of the last status that moved.
    generation: of the last desired document; echo_*: the one the node obeys.
    policy_version: what it says it runs; policy_us: when it first said so, if
    it had said another before, else 0. policy_moved: one of them said something new.

    one_tenant: it takes containers of one tenant at a time.

    What operators want of it, as ``windows.settle`` works it out from ``duty``
    and the maintenance windows, until ``settle_us``: closed: takes nothing new.
    leaving: is being emptied, of everything at ``leave_us``. next_window_us: when
    its next maintenance begins. Microseconds since 1970, ``NEVER_US`` for no such moment.
    """

    id: np.ndarray = column(np.int64)
    capacity: np.ndarray = column(np.int64, R)
    used: np.ndarray = column(np.int64, R)
    gpu_held: np.ndarray = column(np.int64)
    rack: np.ndarray = column(np.int32)
    state: np.ndarray = column(np.int8)
    health: np.ndarray = column(np.int16)
    seq: np.ndarray = column(np.uint64)
    seen: np.ndarray = column(np.float64)
    generation: np.ndarray = column(np.int64)
    echo_epoch: np.ndarray = column(np.int64)
    echo_generation: np.ndarray = column(np.int64)
    policy_version: np.ndarray = column(np.int64)
    policy_us: np.ndarray = column(np.int64)
    published: np.ndarray = column(np.float64)  # monotonic time of the last publication
    acknowledge_us: np.ndarray = column(np.int64, fill=NEVER_US)
    containers: np.ndarray = column(np.int32)
    load: np.ndarray = column(np.int64, 3)  # disk_free_mib, cpu_milli, memory_mib as last reported
    one_tenant: np.ndarray = column(np.bool_)
    closed: np.ndarray = column(np.bool_)
    leaving: np.ndarray = column(np.bool_)
    leave_us: np.ndarray = column(np.int64)
    next_window_us: np.ndarray = column(np.int64)

    def __init__(self, rows: Sequence[NodeRow]):
        super().__init__()
        self.index: dict[int, int] = {}
        self.rows: list[NodeRow] = []
        self.labels_version = 0
        self.racks: dict[str, int] = {}  # name -> number, without gaps
        self.windows: list[Window] = []
        self.settle_us = 0
        self.drained_us = 0  # when it was last looked at what has to leave
        self.policy_moved = False
        for row in rows:
            self.put(row)

    def record_policy_version(self, at: np.ndarray, versions: np.ndarray, now_us: int) -> None:
        """These nodes run these policy versions now."""
        moved = self.policy_version[at] != versions
        if moved.any():
            at, versions = at[moved], versions[moved]
            self.policy_us[at] = np.where(self.policy_version[at] > 0, now_us, 0)
            self.policy_version[at] = versions
            self.policy_moved = True

    def put(self, row: NodeRow, seen: float = 0.0) -> int:
        """Add a node, or take in what changed about one; its position."""
        at = self.index.get(row.id)
        if at is None:
            at = self.index[row.id] = self.take()
            self.rows.append(row)
            self.id[at], self.seen[at] = row.id, seen
            self.state[at], self.health[at] = row.state, row.health
        if row.revoked:
            self.state[at] = NodeState.DECOMMISSIONED
        elif self.state[at] == NodeState.DECOMMISSIONED:
            self.state[at] = NodeState.REGISTERED
        self.rows[at] = row
        self.capacity[at] = [getattr(row, name) for name in AXES]
        self.one_tenant[at] = row.one_tenant
        self.rack[at] = self.racks.setdefault(row.rack, len(self.racks))
        self.labels_version += 1
        self.settle_us = 0
        return at

    def _gpus(self, at: int) -> int:
        """Of declared device ids those that are free."""
        return int(~(np.int64(-1) << self.capacity[at, GPUS]) & ~self.gpu_held[at])

    def take_gpus(self, at: int, count: int) -> int:
        """Mask of the ``count`` lowest free devices, marked as held."""
        mask = lowest(self._gpus(at), count)
        self.gpu_held[at] |= mask
        return mask

    def free_gpus(self, at: int, mask: int) -> None:
        """Give devices back."""
        self.gpu_held[at] &= ~mask

    def view(self) -> Nodes:
        """The arrays a plan sees."""
        n = len(self)
        up = (self.state[:n] == _UP) & (self.health[:n] == 0) & ~self.closed[:n]
        up &= self.containers[:n] < CONTAINERS_MAX
        return Nodes(self.capacity[:n], self.capacity[:n] - self.used[:n], up, self.rack[:n])


def lowest(devices: int, count: int) -> int:
    """Mask of the ``count`` lowest of these devices, of which there are as many."""
    mask = 0
    for _ in range(count):
        low = devices & -devices
        mask, devices = mask | low, devices ^ low
    return mask
