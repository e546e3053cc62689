"""How long every single task waits: for questions about single jobs. Costs some tens of bytes for each task."""

from collections.abc import Sequence

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.columns import longer
from simulator.clock import seconds
from simulator.measures import Waited
from simulator.workload import RunningContainers, Submission
from wire.states import ContainerState, GroupState

# since: when it began to want what it still wants, s; NaN: it wants nothing.
_TASK = np.dtype([("job", "i4"), ("group", "i2"), ("since", "f8"), ("wait_s", "f8")])


class Waits:
    """Listens to what rounds commit, as ``Recorder`` does."""

    def __init__(self) -> None:
        self._tasks = np.zeros(1024, _TASK)
        self._count = self._jobs = 0
        self._where: dict[tuple[int, int], slice] = {}  # (job, group) -> its tasks
        self._groups: dict[int, int] = {}  # live jobs: how many groups each has
        self._later: set[tuple[int, int]] = set()  # groups that wait for others to end

    def submit(self, job: int | None, s: Submission, running: Sequence[RunningContainers] = ()) -> None:
        """A job was stored; None: nobody takes it, so it waits for ever."""
        for no, group in enumerate(s.groups):
            where = slice(self._count, self._count + group.count)
            while where.stop > len(self._tasks):
                self._tasks = longer(self._tasks, 2 * len(self._tasks))
            tasks = self._tasks[where]
            tasks["job"], tasks["group"], tasks["since"] = self._jobs, no, np.nan if group.after else s.at_s
            for each in running:
                if each.group == no:
                    tasks["since"][each.task] = np.nan
            self._count = where.stop
            if job is not None:
                self._where[job, no] = where
                if group.after:
                    self._later.add((job, no))
        self._jobs += 1
        if job is not None:
            self._groups[job] = len(s.groups)

    def on_commit(self, c: Changes) -> None:
        """A round was committed."""
        now = seconds(c.at_us)
        for key, group in c.groups.items():
            if key in self._later and group.run.state != GroupState.WAITING:
                self._later.remove(key)
                self._tasks["since"][self._where[key]] = now
        for block in c.new:
            self._began(block, now)
        for block in c.ended:
            self._over(block)
        for job in c.jobs.values():
            if job.finished_us:
                self._leave(job.id)

    def _began(self, block: np.ndarray, now: float) -> None:
        where = self._where.get((int(block["job"][0]), int(block["group"][0])))
        if where is not None:
            tasks = where.start + block["task"]
            waited: np.ndarray = now - self._tasks["since"][tasks]
            self._tasks["wait_s"][tasks] += np.nan_to_num(waited)
            self._tasks["since"][tasks] = np.nan

    def _over(self, block: np.ndarray) -> None:
        """What did not succeed wants to run again, until its job is over."""
        for row in block[block["state"] != ContainerState.SUCCEEDED]:
            where = self._where.get((int(row["job"]), int(row["group"])))
            if where is not None:
                self._tasks["since"][where.start + int(row["task"])] = seconds(int(row["finished_us"]))

    def _leave(self, job: int) -> None:
        for no in range(self._groups.pop(job, 0)):
            self._tasks["since"][self._where.pop((job, no))] = np.nan
            self._later.discard((job, no))

    def result(self, now: float) -> Waited:
        """Until now."""
        tasks = self._tasks[: self._count]
        waits = ~np.isnan(tasks["since"])
        wait_s = tasks["wait_s"] + np.where(waits, now - tasks["since"], 0.0)
        return Waited(tasks["job"].copy(), tasks["group"].copy(), wait_s, waits, self._jobs)
