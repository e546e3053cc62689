"""The RM's live containers: slots in parallel arrays, and who owns each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from controlplane.rm.jobs import GroupEntry, JobEntry

Owner = tuple["JobEntry", "GroupEntry"]
# What every container of one task group has in common.
SHARED = np.dtype(
    [
        ("job", "i8"), ("group", "i2"), ("day", "i4"), ("tenant", "i8"), ("timeout_s", "i8"), ("memory_mib", "i8"),
        ("vcores_milli", "i8"), ("service", "?"), ("template", "V32"),
    ]
)  # fmt: skip


class ContainerTable:
    """One slot per live container.

    node: position in the node table. ask: row of its group in the ask table,
    which ``owners`` and ``shared`` have too. want: wire.states.Want. added:
    generation of the first document that names it. echoed: its node has
    reported it, so the lease need not be sent again. seen_round: last round a
    status listed it.
    """

    _COLUMNS = {
        "id": np.int64, "node": np.int32, "ask": np.int32, "state": np.int8, "want": np.int8, "task": np.int32,
        "attempt": np.int16, "gpus": np.int64, "added": np.int64, "echoed": np.bool_, "live": np.bool_,
        "seen_round": np.int64, "allocated_us": np.int64, "started_us": np.int64, "memory": np.int32,
        "cpu_ms": np.int64, "ran_ms": np.int64,
    }  # fmt: skip

    def __init__(self) -> None:
        self.owners: list[Owner | None] = []
        self.shared = np.zeros(0, SHARED)
        self._free = np.empty(0, np.int64)  # the last is taken first
        self._index = _Index()
        for name, kind in self._COLUMNS.items():
            setattr(self, name, np.zeros(0, kind))

    id: np.ndarray
    node: np.ndarray
    ask: np.ndarray
    state: np.ndarray
    want: np.ndarray
    task: np.ndarray
    attempt: np.ndarray
    gpus: np.ndarray
    added: np.ndarray
    echoed: np.ndarray
    live: np.ndarray
    seen_round: np.ndarray
    allocated_us: np.ndarray
    started_us: np.ndarray
    memory: np.ndarray
    cpu_ms: np.ndarray
    ran_ms: np.ndarray

    def __len__(self) -> int:
        return len(self.id) - len(self._free)

    def _grow(self, need: int) -> None:
        old = len(self.id)
        size = max(1024, 2 * old, old + need)
        for name in self._COLUMNS:
            setattr(self, name, _longer(getattr(self, name), size))
        self._free = np.concatenate((np.arange(size - 1, old - 1, -1), self._free))

    def add(self, job: JobEntry, group: GroupEntry, ids: np.ndarray) -> np.ndarray:
        """Slots for new containers of one group, cleared but for ``id`` and ``ask``: (k,) int64. ids: rising."""
        k = len(ids)
        if len(self._free) < k:
            self._grow(k)
        slots = self._free[len(self._free) - k :][::-1].copy()
        self._free = self._free[: len(self._free) - k]
        for name in self._COLUMNS:
            getattr(self, name)[slots] = 0
        self.id[slots], self.ask[slots], self.live[slots] = ids, group.row, True
        self._index.add(ids, slots, self)
        self._own(job, group)
        group.slots.update(slots.tolist())
        return slots

    def _own(self, job: JobEntry, group: GroupEntry) -> None:
        row = group.row
        if row >= len(self.owners):
            size = max(256, 2 * row)
            self.owners += [None] * (size - len(self.owners))
            self.shared = _longer(self.shared, size)
        if self.owners[row] is None or self.owners[row][1] is not group:  # type: ignore[index]
            self.owners[row] = (job, group)
            memory_mib, vcores_milli, _ = group.amounts
            self.shared[row] = (
                job.id, group.run.no, job.day, job.owner, group.timeout_s, memory_mib, vcores_milli, group.run.service,
                np.void(group.digest.ljust(32, b"\0")),
            )  # fmt: skip

    def owner_of(self, slot: int) -> Owner:
        """The job and group of the container in ``slot``."""
        found = self.owners[self.ask[slot]]
        assert found is not None
        return found

    def drop(self, slots: np.ndarray) -> None:
        """Forget ended containers: each slot once, of one owner after the other."""
        owners = self.ask[slots]
        for some in np.split(slots, np.flatnonzero(np.diff(owners)) + 1):
            self.owner_of(some[0])[1].slots.difference_update(some.tolist())
        self.live[slots] = False
        self._free = np.concatenate((self._free, slots))

    def slots_of(self, ids: np.ndarray) -> np.ndarray:
        """Slot of each id, -1 for an unknown one: (k,) int64."""
        return self._index.find(ids, self)

    def by_node(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(live slots of these node positions, one node's after the other; where each one's begin, and the end).

        nodes: rising, each once.
        """
        live = np.flatnonzero(self.live)
        rank = np.full(max(int(nodes[-1]) if len(nodes) else 0, int(self.node.max(initial=0))) + 1, -1, np.int32)
        rank[nodes] = np.arange(len(nodes))
        held = rank[self.node[live]]
        live, held = live[held >= 0], held[held >= 0]
        # Sorting sixteen bits at a time is many times faster than a comparing sort.
        order = np.argsort(held.astype(np.uint16) if len(nodes) < 1 << 16 else held, kind="stable")
        starts = np.zeros(len(nodes) + 1, np.int64)
        np.cumsum(np.bincount(held, minlength=len(nodes)), out=starts[1:])
        return live[order], starts


class _Index:
    """Ids and their slots by rising id. What has ended stays until it is half of all."""

    def __init__(self) -> None:
        self._ids, self._slots, self._count = np.empty(0, np.int64), np.empty(0, np.int64), 0

    def add(self, ids: np.ndarray, slots: np.ndarray, t: ContainerTable) -> None:
        end = self._count + len(ids)
        if end > len(self._ids):
            self._compact(t)
            end = self._count + len(ids)
            self._ids, self._slots = _longer(self._ids, 1024 + 2 * end), _longer(self._slots, 1024 + 2 * end)
        rising = not self._count or not len(ids) or ids[0] > self._ids[self._count - 1]
        self._ids[self._count : end], self._slots[self._count : end] = ids, slots
        self._count = end
        if not rising:  # only containers of former leaders come in any order
            order = np.argsort(self._ids[:end], kind="stable")
            self._ids[:end], self._slots[:end] = self._ids[order], self._slots[order]

    def _compact(self, t: ContainerTable) -> None:
        ids, slots = self._ids[: self._count], self._slots[: self._count]
        held = t.live[slots] & (t.id[slots] == ids)
        self._count = int(held.sum())
        self._ids, self._slots = ids[held], slots[held]

    def find(self, ids: np.ndarray, t: ContainerTable) -> np.ndarray:
        if not self._count:
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self._ids[: self._count], ids), self._count - 1)
        slots = self._slots[at]
        return np.where((self._ids[at] == ids) & (t.id[slots] == ids) & t.live[slots], slots, -1)


def _longer(column: np.ndarray, size: int) -> np.ndarray:
    """The same values and zeros up to ``size``."""
    new = np.zeros(size, column.dtype)
    new[: len(column)] = column
    return new
