"""What queues, users and jobs hold, counted by partition as containers come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.memory.table import Table, column
from wire.resources import AXES

if TYPE_CHECKING:
    from controlplane.rm.memory.jobs import JobEntry

R = len(AXES)


class UserRows(Table):
    """A row per user of a leaf. held: (p, u, R). queue: position of the leaf. tenant: the account. jobs: live ones."""

    held: np.ndarray = column(np.int64, axis=1)
    queue: np.ndarray = column(np.int32)
    tenant: np.ndarray = column(np.int64)
    jobs: np.ndarray = column(np.int32)


class JobRows(Table):
    """A row per live job. held: (p, j, R). user: row of its user."""

    held: np.ndarray = column(np.int64, axis=1)
    user: np.ndarray = column(np.int32)
    priority: np.ndarray = column(np.int32)


class Ledger:
    """Usage in units. queues: (p, q, R) int64, what each of the tree holds itself, without what lies below."""

    def __init__(self, partitions: int, queues: int):
        self.queues = np.zeros((partitions, queues, R), np.int64)
        self.users, self.jobs = UserRows(held=(partitions, R)), JobRows(held=(partitions, R))
        self._user_rows: dict[tuple[int, int], int] = {}

    def enter(self, job: JobEntry, queue: int) -> None:
        """Give the job its rows; ``queue``: position of its leaf."""
        key = (queue, job.owner)
        user = self._user_rows.get(key)
        if user is None:
            user = self._user_rows[key] = self.users.take()
            self.users.queue[user], self.users.tenant[user] = queue, job.owner
        self.users.jobs[user] += 1
        row = self.jobs.take()
        job.queue_row, job.user_row, job.row = queue, user, row
        self.jobs.user[row], self.jobs.priority[row] = user, job.priority

    def leave(self, job: JobEntry) -> None:
        """The job has ended and holds nothing; its rows go to others."""
        self.jobs.give_back([job.row])
        self.users.jobs[job.user_row] -= 1
        if not self.users.jobs[job.user_row]:
            del self._user_rows[job.queue_row, job.owner]
            self.users.give_back([job.user_row])

    def charge(self, job: JobEntry, partition: int, amount: np.ndarray) -> None:
        """``amount`` (R,): what the job holds more, or less where negative."""
        self.queues[partition, job.queue_row] += amount
        self.users.held[partition, job.user_row] += amount
        self.jobs.held[partition, job.row] += amount

    def leaf_of(self, jobs: np.ndarray) -> np.ndarray:
        """The leaf of each of these job rows: (k,) int32."""
        found: np.ndarray = self.users.queue[self.jobs.user[jobs]]
        return found

    def others(self, partition: int, jobs: np.ndarray) -> np.ndarray:
        """How many other jobs of its leaf hold something in the partition, of each of these job rows: (k,) int64."""
        holds = self.jobs.held[partition].any(axis=1)
        leaf = self.users.queue[self.jobs.user]
        holding = np.bincount(leaf[holds], minlength=int(leaf.max()) + 1)
        found: np.ndarray = holding[leaf[jobs]] - holds[jobs]
        return found
