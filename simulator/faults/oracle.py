"""What has happened in a life, written down beside the rows, and what must never be said of it.

The rows say what is; the oracle says what was: every container ever committed,
how its process really ended, who wrote when. What contradicts it is a
``Violation``, raised by whoever is about to make it true.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from contract import stored
from contract.stored import StoredGroup
from controlplane.rm.changes import Changes
from controlplane.rm.columns import records
from scheduler.lifecycle.group import FREE_ATTEMPTS
from scheduler.lifecycle.transitions import CONTAINER
from simulator.faults.machine import Machine, Process
from simulator.faults.session import FaultySession
from simulator.faults.setting import NODE_LOST_S
from simulator.rows import Federation
from wire import desired
from wire.states import ContainerReason as Reason
from wire.states import ContainerState as State
from wire.states import JobState

BLAMELESS = (Reason.EXIT_UNKNOWN, Reason.LEASE, Reason.UNREACHABLE)  # failures that use no retry up

Task = tuple[int, int, int]  # job, group, index
_SLACK_S = 1e-6


class Violation(AssertionError):
    """rule: which sentence is broken."""

    def __init__(self, rule: str, text: str):
        super().__init__(f"{rule}: {text}")
        self.rule = rule


def require(holds: object, rule: str, *what: object) -> None:
    if not holds:
        raise Violation(rule, ", ".join(map(str, what)))


@dataclass(slots=True)
class ContainerRecord:
    """A container that was committed. process: of its last start, if any; starts: how many there were on machines of
    each incarnation."""

    sub: int
    node: int
    task: Task
    attempt: int
    gpus: int
    state: int = 0
    reason: int = 0
    exit_code: int = 0
    calm: bool = False  # it was committed when the faults were over
    process: Process | None = None
    starts: dict[int, int] = field(default_factory=dict)

    @property
    def terminal(self) -> bool:
        return self.state >= State.SUCCEEDED


class Oracle:
    """attempts: containers of each task in order of their commit. begun: groups of which something was allocated.
    ended: terminal things, and how they ended. killed: jobs that were seen being stopped. moved: jobs whose home has
    given them another one since the rows were looked at last -> that one. writer: (sub-cluster, epoch)
    -> number of the leader that wrote with it. documents: by number, what they name. named: containers that documents
    name which their nodes have applied. calm: the faults are over."""

    def __init__(self, rows: Federation):
        self.rows = rows
        self.containers: dict[int, ContainerRecord] = {}
        self.attempts: defaultdict[Task, list[int]] = defaultdict(list)
        self.begun: set[tuple[int, int]] = set()
        self.ended: dict[tuple[str, Any], Any] = {}
        self.killed: set[int] = set()
        self.moved: dict[int, int] = {}
        self.writer: dict[tuple[int, int], int] = {}
        self.last_epoch: defaultdict[int, int] = defaultdict(int)
        self.documents: dict[tuple[int, int, int, int], bytes] = {}
        self.named: set[int] = set()
        self.commits, self.calm = 0, False
        self._groups: dict[int, list[StoredGroup]] = {}
        self._silence: dict[int, float] = {}

    def groups(self, job: int) -> list[StoredGroup]:
        """The job's task groups as submitted."""
        if job not in self._groups:
            self._groups[job] = stored.job(self.rows.jobs[job]["spec"]).groups
        return self._groups[job]

    # Leaders

    def committing(self, session: FaultySession, leader: int, silence: dict[int, float]) -> None:
        """A leader is about to commit. silence: of each node, s."""
        sub, epoch = session.sub, session.epoch
        newest = self.rows.subs[sub].lease.epoch
        require(epoch == newest, "only the newest epoch commits", f"epoch {epoch} of {sub} while {newest} leads")
        require(epoch >= self.last_epoch[sub], "epochs of rows never fall", epoch, self.last_epoch[sub])
        require(self.writer.setdefault((sub, epoch), leader) == leader, "no two leaders share an epoch", sub, epoch)
        self.last_epoch[sub] = epoch
        self._silence = silence

    def committed(self, sub: int, c: Changes) -> None:
        """What was just committed."""
        self.commits += 1
        self._check_transitions(c)
        for block in c.ended:
            for row in block:
                self._ended(row)
        for blocks in (c.tasks_first, c.tasks_again):
            for block in blocks:
                for row in block:
                    self._task(row)
        for block in c.new:
            for row in block:
                self._allocated(sub, row)
        self._check_gangs(c)
        strange = [job for job, _ in c.groups if self.rows.jobs[job]["home_id"] != sub and job not in c.rehomed]
        require(not strange, "a job's groups are written by its home", sub, strange)
        for job, home in c.rehomed.items():
            self._moved(job, home)

    def _moved(self, job: int, home: int) -> None:
        """A job has another home, where it begins as if it had just been submitted."""
        begun = [cid for (owner, _, _), cids in self.attempts.items() if owner == job for cid in cids]
        handed = [key for key in self.rows.asks if key[0] == job]
        fresh = not (begun or handed or job in self.killed)
        require(fresh, "only a job of which nothing has begun moves", job, begun, handed)
        self.moved[job] = home

    def _allocated(self, sub: int, row: Any) -> None:
        cid, task = int(row["id"]), (int(row["job"]), int(row["group"]), int(row["task"]))
        require(cid not in self.containers, "a container id is used once", cid)
        own, node = self.rows.subs[sub], int(row["node"])
        left = own.nodes[node]["revoked"] and all(intent.node_id != node for intent in own.intents)
        require(not left, "nothing starts on a node that has left", task, node)
        at_home = self.rows.jobs[task[0]]["home_id"] == sub  # others may not have heard of it yet
        require(not (at_home and task[0] in self.killed), "nothing starts of a job that is being stopped", task)
        require(("task", task) not in self.ended, "a task that has ended never runs again", task)
        before = self.attempts[task]
        attempt = int(row["attempt"])
        if before:
            last = self.containers[before[-1]]
            require(last.terminal, "a task has one live attempt", task, cid, before[-1])
            require(attempt == last.attempt + 1, "every attempt has the next number", task, attempt, last.attempt)
        else:
            require(attempt == 1, "every attempt has the next number", task, attempt, 0)
        before.append(cid)
        self.containers[cid] = ContainerRecord(sub, int(row["node"]), task, attempt, int(row["gpus"]), calm=self.calm)
        self._check_dependencies(task)

    def _check_dependencies(self, task: Task) -> None:
        """Its group's dependencies have all succeeded."""
        groups = self.groups(task[0])
        for name in groups[task[1]].after:
            no = next(at for at, group in enumerate(groups) if group.name == name)
            done = [self.ended.get(("task", (task[0], no, index))) for index in range(groups[no].count)]
            require(
                all(end is not None and end[0] == State.SUCCEEDED for end in done),
                "a group waits for those it names", task, name, done,
            )  # fmt: skip

    def _check_gangs(self, c: Changes) -> None:
        new: defaultdict[tuple[int, int], int] = defaultdict(int)
        for block in c.new:
            for job, group in zip(block["job"].tolist(), block["group"].tolist(), strict=True):
                new[job, group] += 1
        for (job, no), count in new.items():
            group = self.groups(job)[no]
            if group.gang and (job, no) not in self.begun:
                require(count == group.count, "a gang starts all at once", (job, no), count, group.count)
            self.begun.add((job, no))

    def _check_transitions(self, c: Changes) -> None:
        """The log of transitions tells a legal story."""
        for block in c.transitions:
            for cid, old, new in records(block, "container", "old", "new"):
                if old < 0:
                    require(
                        new == State.ALLOCATED and cid not in self.containers, "transitions are legal", cid, old, new
                    )
                    continue
                entry = self.containers[cid]
                legal = entry.state == old and State(new) in CONTAINER[State(old)]
                require(legal, "transitions are legal", cid, f"{old} -> {new}", f"known {entry.state}")
                entry.state = new

    def _ended(self, row: Any) -> None:
        cid = int(row["id"])
        entry = self.containers[cid]
        require(("container", cid) not in self.ended, "a container ends once", cid)
        entry.reason, entry.exit_code = int(row["reason"]), int(row["exit_code"])
        self.ended["container", cid] = (int(row["state"]), entry.reason, entry.exit_code)
        self._check_end(cid, entry)
        excused = not entry.calm or entry.state != State.FAILED or entry.reason == Reason.EXIT_CODE
        require(excused, "in the calm only commands fail", cid, entry)

    def _check_end(self, cid: int, entry: ContainerRecord) -> None:
        """The rows say of a container's end what its process says."""
        process = entry.process
        if entry.reason == Reason.NODE_LOST:
            silent = self._silence.get(entry.node, 0.0)
            gone = self.rows.subs[entry.sub].nodes[entry.node]["revoked"]
            late = silent >= NODE_LOST_S - _SLACK_S
            require(gone or late, "only a silent node is lost", entry.node, f"{silent:.3f} s")
            return
        require(process is None or not process.alive, "what is said to have ended has ended", cid, entry)
        if entry.reason == Reason.VANISHED:
            require(cid in self.named, "nothing vanishes that no node was told of", cid, entry)
        if entry.state == State.SUCCEEDED:
            good = process is not None and process.exit is not None and not process.exit.unknown
            good = good and not process.exit.code and not process.exit.signal  # type: ignore[union-attr]
            require(good, "only what ended well has succeeded", cid, process)
        if entry.reason == Reason.EXIT_CODE:
            recorded = process.exit.code if process is not None and process.exit is not None else None
            require(recorded == entry.exit_code, "the exit code is the process's", cid, recorded, entry.exit_code)

    def _task(self, row: Any) -> None:
        task = int(row["job"]), int(row["group"]), int(row["index"])
        state, last = int(row["state"]), self.containers.get(int(row["container"]))
        known = self.ended.get(("task", task))
        recorded = (state, int(row["container"]), int(row["attempts"]))
        if known is not None:
            require(known == recorded, "terminal states never change", "task", task, known, recorded)
        if state < State.SUCCEEDED:
            return
        require(last is not None and last.terminal, "a task ends with its last attempt", task, last)
        require(self.attempts[task][-1] == int(row["container"]), "a task ends with its last attempt", task, recorded)
        if state == State.SUCCEEDED:
            succeeded = last.state == State.SUCCEEDED  # type: ignore[union-attr]
            require(succeeded, "a task succeeds by a container that did", task, last)
        elif state == State.FAILED:
            self._check_retries(task)
        self.ended["task", task] = recorded

    def _check_retries(self, task: Task) -> None:
        """It was tried as often as it may be."""
        ends = [self.containers[cid] for cid in self.attempts[task]]
        failed = sum(e.state == State.FAILED and e.reason not in BLAMELESS for e in ends)
        retries = self.groups(task[0])[task[1]].retries
        hopeless = len(ends) > retries + 1 + FREE_ATTEMPTS
        require(failed > retries or hopeless, "a task fails when its retries are used up", task, failed, retries)

    def published(self, node: int, body: bytes) -> None:
        """A document can be read from now on."""
        _, _, _, sub, _, epoch, generation, _, _, n, _ = desired.HEADER.unpack_from(body)
        named = body[desired.HEADER.size : desired.HEADER.size + n * desired.ENTRY.size]
        before = self.documents.setdefault((sub, node, epoch, generation), named)
        require(before == named, "a document's number says what it names", sub, node, epoch, generation)

    # Machines

    def applied(self, machine: Machine, doc: desired.Desired) -> None:
        self.named.update(doc.entries)

    def started(self, machine: Machine, process: Process) -> None:
        entry = self.containers.get(process.container)
        require(entry is not None, "nothing starts that is not committed", process.container)
        assert entry is not None
        require(entry.node == machine.node, "a container starts on its node", process.container, machine.node)
        count = entry.starts[machine.incarnation] = entry.starts.get(machine.incarnation, 0) + 1
        require(count == 1, "a node starts a container once", process.container, machine.node)
        entry.process = process
        held = sum(bin(p.lease.gpus & process.lease.gpus).count("1") for p in self._wanted(machine) if p is not process)
        require(not held, "no two processes share a GPU", machine.node, process.container)

    def _wanted(self, machine: Machine) -> list[Process]:
        """Processes whose containers have not ended by the rows."""
        return [p for p in machine.alive() if not self.containers[p.container].terminal]

    def forgotten(self, machine: Machine, container: int) -> None:
        """A node drops what it knows of a container."""
        entry = self.containers.get(container)
        live = entry is not None and not entry.terminal
        require(not live, "a node forgets only what the rows know to have ended", machine.node, container)

    def stopping(self, job: int, state: int) -> None:
        if state == JobState.KILLING or state >= JobState.SUCCEEDED:
            self.killed.add(job)
