"""Listens to what rounds commit and keeps the columns of a ``Run``: by job and by period, never by container."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.columns import longer
from simulator.clock import seconds
from simulator.measures import JOB, LATENCY_BOUNDS_S, LOCALITIES
from simulator.workload import RunningContainers, Submission, critical_path_s
from wire.counts import counted
from wire.resources import AXES
from wire.states import ContainerReason, ContainerState, GroupState

R = len(AXES)
_SUCCEEDED = int(ContainerState.SUCCEEDED)


class Recorder:
    """queues: leaves by path. A job's row is its id less one; ids rise by one from 1.

    ready: (job, group) -> since when its tasks want to run, s. preferences: those
    that name nodes or racks. place: node id -> (name, rack).
    """

    def __init__(self, queues: Sequence[str], place: Mapping[int, tuple[str, str]]):
        self.queues, self.users = list(queues), dict[str, int]()
        self._queue = {path: at for at, path in enumerate(self.queues)}
        self.jobs = np.zeros(1024, JOB)
        self.count = 0
        q = len(self.queues)
        self.latency = np.zeros((q, len(LATENCY_BOUNDS_S) + 1), np.int64)
        self.preempted, self.locality = np.zeros(q, np.int64), np.zeros((q, len(LOCALITIES)), np.int64)
        self.wasted, self.work_before = np.zeros(q), np.zeros(q)
        self.held = np.zeros((16, R))  # of each user: amounts times s
        self.lifecycles = 0
        self.refused: list[tuple[int, int]] = []  # jobs that nobody took: queue and user of each
        self.drained_work = 0.0
        self.ended: list[int] = []  # jobs that have ended since this was emptied last
        self._ready: dict[tuple[int, int], float] = {}
        self._preferences: dict[tuple[int, int], tuple[frozenset[str], frozenset[str]]] = {}
        self._place = place

    def user(self, name: str) -> int:
        """The position of a user's name."""
        return self.users.setdefault(name, len(self.users))

    def submit(self, job: int, s: Submission) -> None:
        """A job was stored."""
        if job > len(self.jobs):
            self.jobs = longer(self.jobs, 2 * len(self.jobs))
        self.count = job
        row = self.jobs[job - 1]
        row["number"], row["submitted"], row["started"], row["finished"] = s.number, s.at_s, np.nan, np.nan
        row["service"] = s.service
        row["queue"], row["user"] = self._queue.get(s.queue, -1), self.user(s.user)
        row["run_s"] = critical_path_s(s.groups)
        row["work"] = sum(
            g.vcores_milli * float(g.run_s.sum() if len(g.run_s) > 1 else g.run_s[0] * g.count) for g in s.groups
        )
        for no, g in enumerate(s.groups):
            if not g.after:
                self._ready[job, no] = s.at_s
            if g.nodes or g.racks:
                self._preferences[job, no] = frozenset(g.nodes), frozenset(g.racks)

    def refuse(self, s: Submission) -> None:
        """A job was not stored, since its queue's routing rejects it."""
        self.refused.append((self._queue.get(s.queue, -1), self.user(s.user)))

    def notes(self) -> list[str]:
        """What a reader of the run has to know."""
        if not self.refused:
            return []
        by_queue = Counter(self.queues[queue] if queue >= 0 else "no queue" for queue, _ in self.refused)
        named = ", ".join(f"{count:,} of {queue}" for queue, count in by_queue.most_common(3))
        others = " and others" if len(by_queue) > 3 else ""
        return [
            f"{counted(len(self.refused), 'job was', 'jobs were')} refused by their queue's routing: {named}{others}"
        ]

    def resume(self, job: int, s: Submission, running: Sequence[RunningContainers]) -> None:
        """These containers of it run already."""
        row = self.jobs[job - 1]
        row["started"], row["containers"] = row["submitted"], sum(len(each.task) for each in running)
        if row["queue"] >= 0 and not s.service:
            done = sum(s.groups[each.group].vcores_milli * float(each.ran_s.sum()) for each in running)
            self.work_before[row["queue"]] += done

    def on_commit(self, c: Changes) -> None:
        """A round was committed."""
        now = seconds(c.at_us)
        for key, group in c.groups.items():
            if group.run.state != GroupState.WAITING:
                self._ready.setdefault(key, now)
        for block in c.new:
            self._began(block, now)
        for block in c.ended:
            self._over(block)
        for job in c.jobs.values():
            row = self.jobs[job.id - 1]
            row["state"] = int(job.run.state)
            if job.finished_us:
                row["finished"] = seconds(job.finished_us)
                self.ended.append(job.id)
                for group in job.groups:
                    self._ready.pop((job.id, group.run.no), None)
                    self._preferences.pop((job.id, group.run.no), None)

    def _began(self, block: np.ndarray, now: float) -> None:
        """Containers of one group were allocated."""
        job, group = int(block["job"][0]), int(block["group"][0])
        row = self.jobs[job - 1]
        if np.isnan(row["started"]):
            row["started"] = now
        row["containers"] += len(block)
        queue = row["queue"]
        first = int((block["attempt"] == 1).sum())  # another attempt waits for other reasons
        late = now - self._ready.get((job, group), now)
        if queue >= 0:
            self.latency[queue, np.searchsorted(LATENCY_BOUNDS_S, late)] += first
        preferences = self._preferences.get((job, group))
        if preferences is not None and queue >= 0:
            for node in block["node"].tolist():
                name, rack = self._place[node]
                self.locality[queue, 0 if name in preferences[0] else 1 if rack in preferences[1] else 2] += 1

    def hold(self, job: int, amounts: np.ndarray, seconds_held: float) -> None:
        """Containers of the job held these amounts (R,) together for so long, and do not end."""
        self._held(self.jobs["user"][job - 1 : job], amounts[None] * seconds_held)

    def _held(self, users: np.ndarray, work: np.ndarray) -> None:
        if len(self.users) > len(self.held):
            self.held = longer(self.held, 2 * len(self.users))
        np.add.at(self.held, users, work)

    def _over(self, block: np.ndarray) -> None:
        self.lifecycles += len(block)
        # of GPUs a container names its devices
        amounts = np.stack([np.bitwise_count(block[a]) if a == "gpus" else block[a] for a in AXES], axis=1)
        lasted_s = seconds(block["finished_us"]) - np.maximum(seconds(block["allocated_us"]), 0.0)
        self._held(self.jobs["user"][block["job"] - 1], amounts * lasted_s[:, None])
        failed = block["state"] != _SUCCEEDED
        if not failed.any():
            return
        bad = block[failed]
        row = bad["job"] - 1
        began = np.where(bad["started_us"] > 0, bad["started_us"], bad["finished_us"])
        work = bad["vcores_milli"] * (bad["finished_us"] - began) / 1e6
        taken = bad["reason"] == ContainerReason.PREEMPTED
        work = np.where(self.jobs["service"][row], 0.0, work)
        np.add.at(self.jobs["lost_work"], row, work)
        np.add.at(self.jobs["preempted"], row[taken], 1)
        self.drained_work += float(work[bad["reason"] == ContainerReason.DRAINED].sum())
        queue = self.jobs["queue"][row]
        np.add.at(self.wasted, queue[queue >= 0], work[queue >= 0])
        np.add.at(self.preempted, queue[taken & (queue >= 0)], 1)


class Meter:
    """Averages over periods of what was held, wanted and there. Values stand from one ``step`` to the next."""

    def __init__(self, queues: int, period_s: float):
        self.period_s, self.queues, self.at = period_s, queues, 0.0
        self._now = np.zeros((2 * queues + 1, R))  # used, wanted, capacity
        self._sums = np.zeros((16, 2 * queues + 1, R))
        self.periods = 1

    def step(self, to: float) -> None:
        """What was set last has stood until ``to``."""
        while to > self.at:
            period = int(self.at / self.period_s + 1e-9)
            upto = min(to, (period + 1) * self.period_s)
            if period >= len(self._sums):
                self._sums = longer(self._sums, 2 * period)
            self._sums[period] += self._now * (upto - self.at)
            self.periods, self.at = period + 1, upto

    def put(self, used: np.ndarray, wanted: np.ndarray, capacity: np.ndarray) -> None:
        """From now on this stands: (q, R) each, and (R,)."""
        q = self.queues
        self._now[:q], self._now[q : 2 * q], self._now[-1] = used, wanted, capacity

    def averages(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(capacity (p, R), used (p, q, R), wanted (p, q, R)); the last period's over the part of it that has been."""
        lengths = np.full(self.periods, self.period_s)
        lengths[-1] = max(self.at - (self.periods - 1) * self.period_s, 1e-9)
        found = self._sums[: self.periods] / lengths[:, None, None]
        q = self.queues
        return found[:, -1], found[:, :q], found[:, q : 2 * q]
