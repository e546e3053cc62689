"""The RM's live containers: slots in parallel arrays, and who owns each."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.columns import longer, stretches
from controlplane.rm.memory.table import Table, column
from wire.resources import AXES, DIVISIBLE, Amounts

if TYPE_CHECKING:
    from controlplane.rm.memory.jobs import GroupEntry, JobEntry

Owner = tuple["JobEntry", "GroupEntry"]
# What every container of one task group has in common. named: its template's digest is in ``template`` by now.
SHARED = np.dtype(
    [
        ("job", "i8"), ("group", "i2"), ("day", "i4"), ("tenant", "i8"), ("timeout_s", "i8"),
        *((axis, "i8") for axis in DIVISIBLE), ("service", "?"), ("named", "?"), ("template", "V32"),
    ]
)  # fmt: skip
_UNNAMED = np.void(bytes(32))


class ContainerTable(Table):
    """A row, which is called its slot, per live container.

    node: position in the node table. ask: row of its group in the ask table,
    which ``owners`` and ``shared`` have too. want: wire.states.Want. added:
    generation of the first document that names it. echoed: its node has
    reported it, so the lease need not be sent again. seen_round: last round a
    status listed it.
    """

    id: np.ndarray = column(np.int64)
    node: np.ndarray = column(np.int32)
    ask: np.ndarray = column(np.int32)
    state: np.ndarray = column(np.int8)
    want: np.ndarray = column(np.int8)
    task: np.ndarray = column(np.int32)
    attempt: np.ndarray = column(np.int16)
    gpus: np.ndarray = column(np.int64)
    added: np.ndarray = column(np.int64)
    echoed: np.ndarray = column(np.bool_)
    live: np.ndarray = column(np.bool_)
    seen_round: np.ndarray = column(np.int64)
    allocated_us: np.ndarray = column(np.int64)
    started_us: np.ndarray = column(np.int64)
    memory: np.ndarray = column(np.int32)
    cpu_ms: np.ndarray = column(np.int64)
    ran_ms: np.ndarray = column(np.int64)

    def __init__(self) -> None:
        super().__init__(1024)
        self.owners: list[Owner | None] = []
        self.shared = np.zeros(0, SHARED)
        self._index = _Index()

    def add(self, job: JobEntry, group: GroupEntry, ids: np.ndarray) -> np.ndarray:
        """Slots for new containers of one group, cleared but for ``id`` and ``ask``: (k,) int64. ids: rising."""
        return self.add_of(group.row, job, group, group.amounts, ids)

    def add_of(self, row: int, job: JobEntry, group: GroupEntry, amounts: Amounts, ids: np.ndarray) -> np.ndarray:
        """The same of containers that have ``amounts``, as this row of the ask table says."""
        slots = self.take_many(len(ids))
        self.id[slots], self.ask[slots], self.live[slots] = ids, row, True
        self._index.add(ids, slots, self)
        self._own(row, job, group, amounts)
        group.slots.update(slots.tolist())
        return slots

    def _own(self, row: int, job: JobEntry, group: GroupEntry, amounts: Amounts) -> None:
        if row >= len(self.owners):
            size = max(256, 2 * row)
            self.owners += [None] * (size - len(self.owners))
            self.shared = longer(self.shared, size)
        if self.owners[row] is None or self.owners[row][1] is not group:  # type: ignore[index]
            self.owners[row] = (job, group)
            divided = [amount for axis, amount in zip(AXES, amounts, strict=True) if axis in DIVISIBLE]
            self.shared[row] = (
                job.id, group.run.no, job.day, job.owner, group.timeout_s, *divided, group.run.service,
                False, _UNNAMED,
            )  # fmt: skip

    def revised(self, group: GroupEntry) -> None:
        """What the group's containers have in common is another template and time-out from now on."""
        row = group.row
        if row < len(self.owners) and self.owners[row] is not None and self.owners[row][1] is group:  # type: ignore[index]
            self.shared["named"][row], self.shared["timeout_s"][row] = False, group.timeout_s

    def disown(self, row: int) -> None:
        """No container has this row of the ask table any more."""
        if row < len(self.owners):
            self.owners[row] = None

    def owner_of(self, slot: int) -> Owner:
        """The job and group of the container in ``slot``."""
        found: Owner | None = self.owners[self.ask[slot]]
        assert found is not None
        return found

    def shared_of(self, slots: np.ndarray) -> np.ndarray:
        """What these containers share with the others of their group: (k,) ``SHARED``."""
        found: np.ndarray = self.shared.take(self.ask[slots])
        return found

    def templates_of(self, slots: np.ndarray) -> np.ndarray:
        """Digests of what the groups of these containers run: (k,) V32."""
        asks = self.ask[slots]
        unnamed: np.ndarray = ~self.shared["named"][asks]
        for ask in np.unique(asks[unnamed]).tolist():
            _, group = self.owners[ask]
            self.shared["template"][ask], self.shared["named"][ask] = np.void(group.digest), True
        found: np.ndarray = self.shared["template"].take(asks)
        return found

    def drop(self, slots: np.ndarray) -> None:
        """Forget ended containers: each slot once, of one owner after the other."""
        owners, each = self.ask[slots], slots.tolist()
        for start, stop in pairwise(stretches(owners).tolist()):
            self.owner_of(each[start])[1].slots.difference_update(each[start:stop])
        self.live[slots] = False
        self.give_back(each)

    def slots_of(self, ids: np.ndarray) -> np.ndarray:
        """Slot of each id, -1 for an unknown one: (k,) int64."""
        return self._index.find(ids, self)

    def by_node(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(live slots of these node positions, one node's after the other; where each one's begin, and the end).

        nodes: rising, each once.
        """
        rank = np.full(max(int(nodes[-1]) if len(nodes) else 0, int(self.node.max(initial=0))) + 1, -1, np.int32)
        rank[nodes] = np.arange(len(nodes))
        held = rank.take(self.node)
        slots = np.flatnonzero((held >= 0) & self.live)  # a mask picks few out of many several times as slowly
        held = held.take(slots)
        # Sorting sixteen bits at a time is many times faster than a comparing sort.
        order = np.argsort(held.astype(np.uint16) if len(nodes) < 1 << 16 else held, kind="stable")
        starts = np.zeros(len(nodes) + 1, np.int64)
        np.cumsum(np.bincount(held, minlength=len(nodes)), out=starts[1:])
        return slots[order], starts


class _Index:
    """Slots by the last bits of an id: one look each, where a sorted list takes one per doubling of its length.

    A leader counts its containers up, so that those of an age do not meet. One that is met by a newer one with the
    same bits (a service, or a former leader's) goes to ``_older``, where some have ended.
    """

    _TIDY = 1024

    def __init__(self) -> None:
        self._slots, self._older = np.zeros(1024, np.int64), dict[int, int]()
        self._tidy_at = self._TIDY

    def add(self, ids: np.ndarray, slots: np.ndarray, t: ContainerTable) -> None:
        """These containers are in ``t`` by now."""
        size = len(self._slots)
        if 2 * len(t) <= size:
            self._put(ids, slots, t)
            return
        while size < 4 * len(t):
            size *= 2
        self._slots, self._older = np.zeros(size, np.int64), {}
        live = np.flatnonzero(t.live)
        self._put(t.id[live], live, t)

    def _put(self, ids: np.ndarray, slots: np.ndarray, t: ContainerTable) -> None:
        at = self._at(ids)
        before = self._slots[at]
        self._slots[at] = slots
        stood = t.live[before] & (self._at(t.id[before]) == at) & (before != slots)
        met = np.concatenate((before[stood], slots[self._slots[at] != slots]))
        self._older.update(zip(t.id[met].tolist(), met.tolist(), strict=True))
        if len(self._older) > self._tidy_at:
            self._older = {cid: slot for cid, slot in self._older.items() if t.live[slot] and t.id[slot] == cid}
            self._tidy_at = self._TIDY + 2 * len(self._older)

    def _at(self, ids: np.ndarray) -> np.ndarray:
        found: np.ndarray = ids & (len(self._slots) - 1)
        return found

    def find(self, ids: np.ndarray, t: ContainerTable) -> np.ndarray:
        slots: np.ndarray = self._slots[self._at(ids)]
        missing = np.flatnonzero((t.id[slots] != ids) | ~t.live[slots])
        slots[missing] = -1
        if self._older and len(missing):
            older = np.array([self._older.get(cid, -1) for cid in ids[missing].tolist()], np.int64)
            slots[missing] = np.where((t.id[older] == ids[missing]) & t.live[older], older, -1)
        return slots
