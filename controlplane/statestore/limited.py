"""What of a sub-cluster's pending asks waits for a limit, and would not start however much was free."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from controlplane.statestore.capacities import R
from controlplane.statestore.packed import Table, pack, unpack
from scheduler.shares.tree import lineage
from wire.resources import Amounts, amounts

VAIN = "!"  # before the path of a queue whose asks wait for no maximum, but in vain: no node there could hold them


@dataclass(frozen=True, slots=True, eq=False)
class Limited:
    """Not to be written. tables: by partition, the queues by whose maxima (or a user's in them) asks wait, or which
    wait in vain, and how much these want: (k, R) int64. by_queue: the same in all partitions. total: (R,) int64.
    """

    tables: Mapping[str, Table]
    by_queue: Mapping[str, Amounts]
    total: np.ndarray

    @classmethod
    def of(cls, tables: Mapping[str, Table]) -> "Limited":
        found: dict[str, np.ndarray] = {}
        for paths, rows in tables.values():
            for path, row in zip(paths, rows, strict=True):
                found[path] = found[path] + row if path in found else row
        total: np.ndarray = np.array([*found.values()], np.int64).reshape(-1, R).sum(axis=0)
        return cls(tables, {path: amounts(row.tolist()) for path, row in found.items()}, total)

    def in_vain(self, partition: str) -> Table:
        """What of the partition is asked for in vain, by the queues that do."""
        paths, rows = self.tables.get(partition, ([], self.total[None][:0]))
        at = [i for i, path in enumerate(paths) if path.startswith(VAIN)]
        return [paths[i].removeprefix(VAIN) for i in at], rows[at]

    def packed(self) -> bytes | None:
        """As it is stored."""
        return pack(self.tables) if self.tables else None

    def behind(self, queue: str) -> np.ndarray:
        """(R,) int64: what asks of the queue would wait behind, as the maximum is theirs or of one above."""
        found: np.ndarray = sum(
            (np.array(self.by_queue[path], np.int64) for path in lineage(queue) if path in self.by_queue),
            np.zeros(R, np.int64),
        )
        return found


NONE_LIMITED = Limited.of({})


@functools.lru_cache(maxsize=128)
def _unpacked(packed: bytes) -> Limited:
    return Limited.of(unpack(packed))


def unpacked(packed: bytes | None) -> Limited:
    """Of a row, which is read more often than it changes."""
    return _unpacked(bytes(packed)) if packed else NONE_LIMITED
