"""Simulated nodes: the node managers' side of the protocol for many nodes at once. Only the processes are missing.

They do what documents say, take time to "run" what they are told, and report
it. How documents and statuses travel is their owner's: over Redis
(``hollow``), or from hand to hand on a virtual clock (``engine``).
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from controlplane.rm.codec.records import STATUS
from simulator.containertable import ContainerTable, DocumentEntries, padded
from wire import status

# (l,) ``SIGNED_LEASE`` -> how long each of these containers will run, (l,) float64 s, and the exit code it ends with
RunTimes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True)
class Documents:
    """k documents, what they hold end to end.

    rows: (k,) of their nodes. numbers: (k, 3) int64 epoch, generation and
    policy version. wanted: (e,) ``WANTED``; sizes: (k,) how many each holds.
    leases: (l,) ``SIGNED_LEASE``; leased: (k,) likewise.
    """

    rows: np.ndarray
    numbers: np.ndarray
    wanted: np.ndarray
    sizes: np.ndarray
    leases: np.ndarray
    leased: np.ndarray


@dataclass(frozen=True, slots=True)
class Applied:
    """started: ids of containers that run from now on. urgent: rows with something to say for which nobody should wait.

    news: rows where something has started or ended by their document, or is missing that it names. refused:
    leases that have expired or are of a later epoch than their document.
    """

    started: np.ndarray
    urgent: np.ndarray
    news: np.ndarray
    refused: int


class SimulatedNodes:
    """head: (n,) ``STATUS``, what each node's next status begins with. policy_epoch: (n,) int64, of the leader that
    named the policy version in it. ids: (n,) int64."""

    def __init__(self, stamp: bool = False) -> None:
        self.ids = np.zeros(0, np.int64)
        self.head = np.zeros(0, STATUS)
        self.policy_epoch = np.zeros(0, np.int64)
        self.containers = ContainerTable(0, stamp)

    def set_nodes(self, ids: list[int]) -> None:
        """Simulate these nodes from now on: all of them, those simulated already first."""
        old, size = len(self.ids), len(ids)
        self.ids = np.array(ids, np.int64)
        head = np.zeros(size, STATUS)
        head[:old] = self.head
        head["magic"], head["version"], head["node"] = status.MAGIC, status.VERSION, self.ids
        head["disk_free_mib"], head["cpu_milli"], head["memory_mib"] = 100_000, 100, 1000
        self.head = head
        self.policy_epoch = np.concatenate((self.policy_epoch, np.zeros(size - old, np.int64)))
        self.containers.grow(size)

    def restart(self, rows: np.ndarray, seq: int) -> None:
        """These nodes start: they know no document, and count their statuses from ``seq`` on."""
        self.head["seq"][rows], self.head["epoch"][rows], self.head["generation"][rows] = seq, 0, 0

    def newer(self, rows: np.ndarray, epochs: np.ndarray, generations: np.ndarray) -> np.ndarray:
        """Which documents of these nodes are later than what they have applied: (k,) bool."""
        epoch, generation = self.head["epoch"][rows], self.head["generation"][rows]
        found: np.ndarray = (epochs > epoch) | ((epochs == epoch) & (generations > generation))
        return found

    def apply(self, d: Documents, runs: RunTimes, now: float, wall_s: float) -> Applied:
        """Do what these documents say. now: s on the clock of what runs; wall_s: s since 1970, for leases."""
        self.head["epoch"][d.rows], self.head["generation"][d.rows] = d.numbers[:, 0], d.numbers[:, 1]
        self.update_policy_version(d.rows, d.numbers[:, 0], d.numbers[:, 2])
        starts, run_s, codes, refused = self._leased(d, runs, wall_s)
        entries = DocumentEntries(d.rows, d.sizes, d.wanted["id"], d.wanted["want"], starts, run_s, codes)
        started, over, missing = self.containers.apply(entries, now)
        urgent = self.containers.count[d.rows] < status.PATIENT_ENTRIES
        news = np.zeros(len(d.rows), np.bool_)
        owner = entries.owner
        urgent[owner[over]], news[owner[started | over | missing]] = True, True
        return Applied(d.wanted["id"][started], d.rows[urgent], d.rows[news], refused)

    def _leased(self, d: Documents, runs: RunTimes, wall_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Of each container named: 1 with a lease, -1 with one that may not be used; its run time and exit code."""
        e = len(d.wanted)
        starts, run_s, codes = np.zeros(e, np.int8), np.zeros(e), np.zeros(e, np.int32)
        if not len(d.leases) or not e:
            return starts, run_s, codes, 0
        owner = np.repeat(np.arange(len(d.rows)), d.leased)
        good = (d.leases["expires_at"] >= wall_s) & (d.leases["epoch"] <= d.numbers[owner, 0])
        same = padded(d.wanted["id"], d.sizes)[owner] == d.leases["container"][:, None]
        at, named = (np.cumsum(d.sizes) - d.sizes)[owner] + same.argmax(axis=1), same.any(axis=1)
        starts[at[named]] = np.where(good[named], 1, -1)
        times, ends = runs(d.leases)
        run_s[at[named]], codes[at[named]] = times[named], ends[named]
        return starts, run_s, codes, int((~good).sum())

    def update_policy_version(self, rows: np.ndarray, epochs: np.ndarray, versions: np.ndarray) -> np.ndarray:
        """Take in policy versions named by leaders of these epochs; the rows for which they are news."""
        known = self.policy_epoch[rows]
        newer = (epochs > known) | ((epochs == known) & (versions > self.head["policy_version"][rows]))
        newer &= epochs >= self.head["epoch"][rows]
        found: np.ndarray = rows[newer]
        self.policy_epoch[found], self.head["policy_version"][found] = epochs[newer], versions[newer]
        return found

    def statuses(self, rows: np.ndarray, now: float) -> list[bytes]:
        """The next status of each of these nodes."""
        self.head["seq"][rows] += 1
        heads, counts = self.head.take(rows), self.containers.count[rows]
        heads["entries"] = counts
        bodies = self.containers.reports(rows, now)
        # A header and all places of its node side by side, so that each status is one piece of this.
        messages = np.zeros(len(rows), [("head", STATUS), ("body", bodies.dtype, bodies.shape[1:])])
        messages["head"], messages["body"] = heads, bodies
        view, size = memoryview(messages.view(np.uint8).data), messages.dtype.itemsize
        starts = range(0, len(view), size)
        ends = (np.arange(len(rows)) * size + STATUS.itemsize + counts * status.RECORD_BYTES).tolist()
        messages["head"]["crc"] = [zlib.crc32(view[a:b]) for a, b in zip(starts, ends, strict=True)]
        return [bytes(view[a:b]) for a, b in zip(starts, ends, strict=True)]
