"""What must hold in the rows after every step."""

from collections import defaultdict

from scheduler.lifecycle.guest import HandedTasks
from scheduler.lifecycle.transitions import GROUP, JOB
from simulator.faults.oracle import Oracle, Task, require
from simulator.faults.setting import LIMITED, MOST_JOBS
from simulator.rows import Federation, Json
from wire.resources import CORES, GPUS, MEMORY
from wire.states import TERMINAL, GroupState, JobState, NodeState, TaskState

Reach = dict[int, frozenset[int]]


def _closure(table: dict[JobState, frozenset[JobState]] | dict[GroupState, frozenset[GroupState]]) -> Reach:
    """What may be found after each state when steps between were not seen."""
    reach = {int(state): {int(state), *map(int, after)} for state, after in table.items()}
    for _ in reach:
        for found in reach.values():
            found.update(*(reach[after] for after in list(found)))
    return {state: frozenset(found) for state, found in reach.items()}


_JOBS, _GROUPS = _closure(JOB), _closure(GROUP)


class RowsCheck:
    """Compares the rows with the oracle and with how they were at the last look."""

    def __init__(self, rows: Federation, oracle: Oracle):
        self.rows, self.oracle = rows, oracle
        self._jobs: dict[int, tuple[int, int, int]] = {}  # home, state and epoch
        self._groups: dict[tuple[int, int], int] = {}

    def __call__(self) -> None:
        self._nodes()
        self._containers()
        self._states()
        self._places()
        self._limits()

    def _nodes(self) -> None:
        for sub in self.rows.subs.values():
            used: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
            for c in sub.containers.values():
                node, gpus = c.node, c.gpus
                asked, sums = self.oracle.groups(c.job)[c.group].resources, used[node]
                sums[0] += asked[MEMORY]
                sums[1] += asked[CORES]
                require(not sums[3] & gpus, "no two containers share a GPU", node, bin(gpus))
                require(gpus.bit_count() == asked[GPUS], "a container has the GPUs it asked for", node, bin(gpus))
                sums[3] |= gpus
            for node, (memory, vcores, _, gpus) in used.items():
                row = sub.nodes[node]
                fits = memory <= row["memory_mib"] and vcores <= row["vcores_milli"] and not gpus >> row["gpus"]
                require(fits, "a node holds no more than it has", node, memory, vcores, bin(gpus))
                require(row["state"] < NodeState.LOST, "nothing lives on a lost node", node)

    def _containers(self) -> None:
        """A container's row is in one place, a task has one live container, and the oracle knows it alive."""
        seen: dict[Task, int] = {}
        count = 0
        for sub in self.rows.subs.values():
            for cid, c in sub.containers.items():
                count += 1
                key = c.job, c.group, c.task
                require(key not in seen, "a task has one live attempt", key, cid, seen.get(key))
                seen[key] = cid
                entry = self.oracle.containers.get(cid)
                known = entry is not None and (entry.node, entry.attempt, entry.state) == (c.node, c.attempt, c.state)
                require(known and entry is not None and entry.sub == sub.id, "rows and log agree", cid, entry, c.state)
                require(self.rows.jobs[c.job]["state"] < TERMINAL, "an ended job holds nothing", c.job, cid)
                at_home = self.rows.jobs[c.job]["home_id"] == sub.id
                handed = at_home or (c.job, c.group, sub.id) in self.rows.asks
                require(handed, "what runs elsewhere was handed over", c.job, cid, sub.id)
        live = sum(not entry.terminal for entry in self.oracle.containers.values())
        require(count == live, "a container's row is in exactly one place", count, live)

    def _states(self) -> None:
        """Acknowledged jobs are there; what has ended stays as it was; states follow one another."""
        rows = self.rows
        require(len(rows.jobs) == rows.submitted, "an acknowledged job is never lost", rows.submitted)
        for job, row in rows.jobs.items():
            state, epoch = row["state"], row["epoch"]
            before, before_epoch = self._before(job, row)
            if state != before:
                require(state in _JOBS[before], "transitions are legal", "job", job, before, state)
            require(epoch >= before_epoch, "epochs of rows never fall", job, before_epoch, epoch)
            self._jobs[job] = row["home_id"], state, epoch
            if not state and not epoch:
                recorded = any(i.kind == "submit" and i.job_id == job for i in rows.subs[row["home_id"]].intents)
                require(recorded, "an acknowledged job is never lost", job)
            self.oracle.stopping(job, state)
            if state >= TERMINAL:
                self._job_over(job)
            for no, counters in enumerate(rows.groups[job]):
                was = self._groups.get((job, no), 0)
                if counters[0] != was:
                    require(counters[0] in _GROUPS[was], "transitions are legal", "group", job, no, was, counters[0])
                self._groups[job, no] = counters[0]

    def _before(self, job: int, row: Json) -> tuple[int, int]:
        """The job's state and epoch at the last look. With a new home it begins anew: other leaders count epochs there.

        Nobody but its home gives it one, and between that and this look nobody else has written.
        """
        home, state, epoch = self._jobs.get(job, (row["home_id"], 0, 0))
        moved_to = self.oracle.moved.pop(job, home)
        require(row["home_id"] == moved_to, "a job's home alone gives it another", job, home, row["home_id"], moved_to)
        if moved_to == home:
            return state, epoch
        groups = self.rows.groups[job]
        fresh = not any((row["state"], row["epoch"], row["admitted_us"], row["started_us"], *map(any, groups)))
        require(fresh, "a job that moves is as it was submitted", job, row["state"], row["epoch"], groups)
        self._groups |= {(job, no): 0 for no in range(len(groups))}
        return 0, 0

    def _job_over(self, job: int) -> None:
        rows, row = self.rows, self.rows.jobs[job]
        recorded = row["state"], row["message"], row["finished_us"], str(rows.groups[job])
        known = self.oracle.ended.setdefault(("job", job), recorded)
        if known is not recorded:
            require(known == recorded, "terminal states never change", "job", job, known, recorded)
            return
        for no, (state, running, succeeded, failed, killed, *_) in enumerate(rows.groups[job]):
            said = (row["services"] or {}).get(f"{no}")
            count = said["count"] if said else self.oracle.groups(job)[no].count
            require(state >= TERMINAL and not running, "an ended job's groups have ended", job, no, state, running)
            require(succeeded + failed + killed == count, "counters add up", job, no, succeeded, failed, killed, count)
            ends = [self.oracle.ended.get(("task", (job, no, index))) for index in range(count)]
            good = sum(end is not None and end[0] == TaskState.SUCCEEDED for end in ends)
            bad = sum(end is not None and end[0] == TaskState.FAILED for end in ends)
            require((good, bad) == (succeeded, failed), "counters tell of tasks", job, no, good, bad, rows.groups[job])
        if row["state"] == JobState.SUCCEEDED:
            require(
                all(c[0] == GroupState.SUCCEEDED for c in rows.groups[job]), "a job succeeds with all its groups", job
            )

    def _places(self) -> None:
        """A unit of demand is counted in exactly one sub-cluster."""
        live = {(c.job, c.group, c.task): s.id for s in self.rows.subs.values() for c in s.containers.values()}
        waiting: dict[Task, int] = {}
        for (job, no, sub), ask in self.rows.asks.items():
            require(self.rows.jobs[job]["state"] < TERMINAL, "an ask does not outlive its job", job, sub)
            right = 0 <= ask.base <= ask.taken <= ask.target
            require(right, "no more is taken than was handed over", job, no, sub, ask)
            handed = HandedTasks.of_row(ask.base, ask.target, ask.taken, ask.wish, ask.work)
            for index in handed.tasks(ask.taken, ask.target)[0].tolist():
                task = job, no, index
                require(task not in waiting, "a task waits in one place", task, sub, waiting.get(task))
                require(task not in live, "a task waits in one place", task, sub, "lives in", live.get(task))
                require(("task", task) not in self.oracle.ended, "what has ended waits nowhere", task, sub)
                waiting[task] = sub

    def _limits(self) -> None:
        count = sum(
            JobState.ADMITTED <= row["state"] < TERMINAL
            for row in self.rows.jobs.values()
            if row["queue"] == f"root.{LIMITED}"
        )
        require(count <= MOST_JOBS, "a queue runs no more jobs than it may", count)
