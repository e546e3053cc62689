"""What queues, users and jobs hold, counted by partition as containers come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.columns import longer
from wire.resources import AXES

if TYPE_CHECKING:
    from controlplane.rm.memory.jobs import JobEntry

R = len(AXES)
_FIRST_ROWS = 64


class Ledger:
    """Usage in units, one row per queue of the tree, per user of a leaf, and per live job.

    queues: (p, q, R) int64, without what lies below. users: (p, u, R). jobs:
    (p, j, R). user_queue: (u,) int32 leaf of each user row. job_user,
    job_priority: (j,) int32.
    """

    def __init__(self, partitions: int, queues: int):
        self.queues = np.zeros((partitions, queues, R), np.int64)
        self.users = np.zeros((partitions, _FIRST_ROWS, R), np.int64)
        self.jobs = np.zeros((partitions, _FIRST_ROWS, R), np.int64)
        self.user_queue = np.zeros(_FIRST_ROWS, np.int32)
        self.job_user = np.zeros(_FIRST_ROWS, np.int32)
        self.job_priority = np.zeros(_FIRST_ROWS, np.int32)
        self._user_rows: dict[tuple[int, int], int] = {}
        self._user_jobs: list[int] = []  # live jobs of each user row
        self._free_users: list[int] = []
        self._free_jobs: list[int] = []
        self._jobs = 0

    def enter(self, job: JobEntry, queue: int) -> None:
        """Give the job its rows; ``queue``: position of its leaf."""
        key = (queue, job.owner)
        user = self._user_rows.get(key)
        if user is None:
            user = self._user_rows[key] = self._user_row(queue)
        self._user_jobs[user] += 1
        job.queue_row, job.user_row, job.row = queue, user, self._job_row()
        self.job_user[job.row], self.job_priority[job.row] = user, job.priority

    def leave(self, job: JobEntry) -> None:
        """The job has ended and holds nothing; its rows go to others."""
        self._free_jobs.append(job.row)
        self._user_jobs[job.user_row] -= 1
        if not self._user_jobs[job.user_row]:
            del self._user_rows[job.queue_row, job.owner]
            self._free_users.append(job.user_row)

    def charge(self, job: JobEntry, partition: int, amount: np.ndarray) -> None:
        """``amount`` (R,): what the job holds more, or less where negative."""
        self.queues[partition, job.queue_row] += amount
        self.users[partition, job.user_row] += amount
        self.jobs[partition, job.row] += amount

    def others(self, partition: int, jobs: np.ndarray) -> np.ndarray:
        """How many other jobs of its leaf hold something in the partition, of each of these job rows: (k,) int64."""
        holds = self.jobs[partition].any(axis=1)
        leaf = self.user_queue[self.job_user]
        holding = np.bincount(leaf[holds], minlength=int(leaf.max()) + 1)
        found: np.ndarray = holding[leaf[jobs]] - holds[jobs]
        return found

    def _user_row(self, queue: int) -> int:
        if self._free_users:
            row = self._free_users.pop()
        else:
            row = len(self._user_jobs)
            self._user_jobs.append(0)
            if row >= len(self.user_queue):
                self.users, self.user_queue = longer(self.users, 2 * row, 1), longer(self.user_queue, 2 * row)
        self.users[:, row] = 0
        self.user_queue[row] = queue
        return row

    def _job_row(self) -> int:
        if self._free_jobs:
            row = self._free_jobs.pop()
        else:
            row = self._jobs
            self._jobs += 1
            if row >= len(self.job_user):
                self.jobs, self.job_user = longer(self.jobs, 2 * row, 1), longer(self.job_user, 2 * row)
                self.job_priority = longer(self.job_priority, 2 * row)
        self.jobs[:, row] = 0
        return row
