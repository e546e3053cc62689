"""The RM's live containers: slots in parallel arrays, and who owns each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from controlplane.rm.jobs import GroupEntry, JobEntry


class ContainerTable:
    """One slot per live container.

    node: position in the node table. want: wire.states.Want. added: generation
    of the first document that names it. echoed: its node has reported it, so
    the lease need not be sent again. seen_round: last round a status listed it.
    """

    _COLUMNS = {
        "id": np.int64, "node": np.int32, "state": np.int8, "want": np.int8, "task": np.int32, "attempt": np.int16,
        "gpus": np.int64, "added": np.int64, "echoed": np.bool_, "live": np.bool_, "seen_round": np.int64,
        "allocated_us": np.int64, "started_us": np.int64, "memory": np.int32, "cpu_ms": np.int64, "ran_ms": np.int64,
    }  # fmt: skip

    def __init__(self) -> None:
        self.index: dict[int, int] = {}
        self.job: list[JobEntry | None] = []
        self.group: list[GroupEntry | None] = []
        self._free: list[int] = []
        for name, kind in self._COLUMNS.items():
            setattr(self, name, np.zeros(0, kind))

    id: np.ndarray
    node: np.ndarray
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
        return len(self.index)

    def _grow(self, need: int) -> None:
        old = len(self.job)
        size = max(1024, 2 * old, old + need)
        for name in self._COLUMNS:
            column = getattr(self, name)
            new = np.zeros(size, column.dtype)
            new[:old] = column
            setattr(self, name, new)
        self.job += [None] * (size - old)
        self.group += [None] * (size - old)
        self._free += range(size - 1, old - 1, -1)

    def add(self, job: JobEntry, group: GroupEntry, ids: np.ndarray) -> np.ndarray:
        """Slots for new containers of one group, cleared but for ``id``, ``job`` and ``group``: (k,) int64."""
        k = len(ids)
        if len(self._free) < k:
            self._grow(k)
        slots = self._free[-k:][::-1] if k else []
        del self._free[len(self._free) - k :]
        at = np.array(slots, np.int64)
        for name in self._COLUMNS:
            getattr(self, name)[at] = 0
        self.id[at] = ids
        self.live[at] = True
        self.index.update(zip(ids.tolist(), slots, strict=True))
        for slot in slots:
            self.job[slot] = job
            self.group[slot] = group
        group.slots.update(slots)
        return at

    def drop(self, slot: int) -> None:
        """Forget an ended container."""
        group = self.group[slot]
        assert group is not None
        group.slots.discard(slot)
        del self.index[int(self.id[slot])]
        self.live[slot] = False
        self.job[slot] = self.group[slot] = None
        self._free.append(slot)

    def slots_of(self, ids: np.ndarray) -> np.ndarray:
        """Slot of each id, -1 for an unknown one: (k,) int64."""
        find = self.index.get
        return np.array([find(i, -1) for i in ids.tolist()], np.int64)

    def by_node(self, nodes: list[int]) -> dict[int, np.ndarray]:
        """Live slots of each of these node positions."""
        live = np.flatnonzero(self.live)
        held = self.node[live]
        wanted = np.isin(held, nodes)
        live, held = live[wanted], held[wanted]
        order = np.argsort(held, kind="stable")
        live, held = live[order], held[order]
        starts = np.searchsorted(held, nodes)
        ends = np.searchsorted(held, nodes, side="right")
        return {n: live[s:e] for n, s, e in zip(nodes, starts, ends, strict=True)}
