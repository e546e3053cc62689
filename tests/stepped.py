"""What steps a sub-cluster round by round, over real stores (``tests.integration.rm.cluster``) or in memory
(``tests.doubles``)."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from contract import jobspec
from controlplane.rm.driver import summary
from controlplane.rm.driver.rebuild import rebuild
from controlplane.rm.driver.round import Duties, Round, RoundReport, RoundSettings
from controlplane.rm.memory.jobs import JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Bus, Store
from controlplane.rm.steps.publish import Signer
from simulator.containertable import ContainerTable
from wire.states import ContainerState, terminal
from wire.summary import Summary, decode, encode

LOG_BYTES = 1 << 20


class MovedClock(Protocol):
    """A clock that a test moves on."""

    ahead_s: float

    def now_us(self) -> int: ...
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...
    def processor_s(self) -> float: ...


class Stepped:
    """Simulated nodes that move when told to. A container runs until ``finish``."""

    containers: ContainerTable

    def row_of(self, node_id: int) -> int:
        raise NotImplementedError

    def known(self) -> Iterable[int]:
        """Their ids."""
        raise NotImplementedError

    def step(self, *cut: int) -> None:
        """Every node but those cut off reads its document, obeys and reports."""
        raise NotImplementedError

    def all_held(self) -> dict[int, int]:
        """Container id -> state, over all nodes."""
        return {cid: state for node in self.known() for cid, state in self.holds(node).items()}

    def holds(self, node_id: int) -> dict[int, int]:
        """Container id -> state of one node."""
        return dict(self.containers.states(self.row_of(node_id)))

    def finish(self, state: ContainerState = ContainerState.SUCCEEDED, ids: set[int] | None = None) -> int:
        """End running containers (all of them, or ``ids``); how many. They report at the next step."""
        return self.containers.end(ids, state)

    def lose(self, node_id: int, cid: int) -> None:
        """The node no longer knows this container."""
        self.containers.drop(self.row_of(node_id), cid)


class SteppedLeader:
    """One leader: its memory, its session and its rounds."""

    def __init__(self, sub: int, store: Store, bus: Bus, clock: MovedClock, signer: Signer):
        self.store, self.bus, self.clock, self.epoch = store, bus, clock, store.epoch
        self.answered = 0.0
        self.memory = rebuild(store, LOG_BYTES, self.answered)
        chosen = RoundSettings(LOG_BYTES, 7200.0, check_invariants=True)
        self.rounds = Round(sub, self.memory, store, bus, clock, signer, chosen)

    def round(self, *lost: int, intents: bool = True) -> RoundReport:
        """One round that looks at everything, but perhaps intents. ``lost``: node ids to declare lost."""
        self.answered += 1.0
        at = [self.memory.nodes.index[n] for n in lost]
        statuses = list(range(len(self.memory.nodes)))
        return self.rounds.run(Duties(statuses, intents, np.array(at, np.int64)), self.answered)

    def rebuilt(self, ahead: dict[int, JobEntry] | None = None) -> Memory:
        """What a successor would know now, who has made some of it ahead."""
        return rebuild(self.store, LOG_BYTES, 0.0, ahead)

    def summary(self) -> Summary:
        """The summary as web would read it."""
        return decode(encode(summary.summary(self.memory, "test", {}, False, 0.0)))


class Live(NamedTuple):
    """A live container's row. node: its name."""

    id: int
    node: str
    group: int
    state: int
    amounts: tuple[int, int, int]


Led = TypeVar("Led", bound=SteppedLeader)


class SteppedCluster(Generic[Led]):
    """A sub-cluster and who uses it. Leaders are made with ``lead``."""

    nodes: Stepped

    def lead(self) -> Led:
        """Somebody takes the post."""
        raise NotImplementedError

    def store(self, *specs: jobspec.JobSpec) -> list[int]:
        """Store jobs as web does; their ids."""
        raise NotImplementedError

    def state(self, job_id: int) -> int:
        """The job's ``JobState``, as its row says."""
        raise NotImplementedError

    def live(self, job_id: int) -> list["Live"]:
        """The job's live containers, by id."""
        raise NotImplementedError

    def group(self, job_id: int, no: int = 0) -> Any:
        """``state``, ``failed``, ``retried`` and ``reason`` of a group's row."""
        raise NotImplementedError

    def events(self, job_id: int, kind: str = "preemption") -> list[str]:
        """What was told of the job, oldest first."""
        raise NotImplementedError

    def reasons(self, job_id: int) -> Counter[str]:
        """How its containers ended."""
        raise NotImplementedError

    def held(self, *jobs: int) -> list[int]:
        """How many containers each job has now."""
        return [len(self.live(job)) for job in jobs]

    def where(self, job_id: int) -> Counter[str]:
        """How many of its containers each node has."""
        return Counter(container.node for container in self.live(job_id))

    def kill(self, job_id: int, message: str = "stop") -> None:
        """Ask for the job's end."""
        raise NotImplementedError

    def submit(self, *groups: dict[str, Any], **job: Any) -> int:
        """Store a job; its id. A group is 1 task of 512 MiB and half a core unless it says otherwise."""
        filled = [
            {"name": f"g{no}", "command": ["true"], "resources": {"memory_mib": 512, "vcores_milli": 500}} | g
            for no, g in enumerate(groups)
        ]
        return self.submit_spec({"name": "job", "groups": filled} | job)

    def submit_spec(self, raw: dict[str, Any]) -> int:
        """Store a job as its tenant would hand it in; its id."""
        spec, errors = jobspec.parse(raw)
        assert spec is not None, errors
        return self.store(spec)[0]

    def play(self, leader: Led, *jobs: int, rounds: int = 40) -> None:
        """Rounds and nodes in turn, every attempt succeeding, until these jobs have ended."""
        for _ in range(rounds):
            leader.round()
            if all(terminal(self.state(j)) for j in jobs):
                return
            self.nodes.step()
            self.nodes.finish()
            self.nodes.step()
            leader.clock.ahead_s += 100.0
        raise AssertionError([(j, self.state(j)) for j in jobs])


def memory_state(m: Memory) -> dict[str, Any]:
    """What a leader's memory says, in a form in which two memories can be compared."""
    n, t = m.nodes, m.containers
    live = np.flatnonzero(t.live)
    columns = ("id", "state", "want", "task", "attempt", "gpus", "allocated_us", "started_us")
    containers = {
        int(t.id[s]): [int(n.id[t.node[s]]), *(int(getattr(t, name)[s]) for name in columns)] for s in live.tolist()
    }
    nodes = {
        int(n.id[at]): (
            n.used[at].tolist(), n.capacity[at].tolist(), int(n.gpu_held[at]), int(n.containers[at]), int(n.state[at]),
            int(n.health[at]),
        )
        for at in range(len(n))
    }  # fmt: skip
    jobs = {
        job.id: (job.run.state, job.run.live, job.run.verdict, job.run.message, job.priority, job.queue, job.owner,
                 job.started_us, [_group(job.run.stopping, g) for g in job.groups])
        for job in m.jobs.values()
    }  # fmt: skip
    queues = dict(zip(m.queues.paths, m.ledger.queues[-1].tolist(), strict=True))
    return {"containers": containers, "nodes": nodes, "jobs": jobs, "queues": queues, "policy": m.queues.version}


def _group(stopping: bool, g: Any) -> tuple[Any, ...]:
    r = g.run
    # Of a job that is being stopped only the end counts; that a back-off is over shows in the next round.
    state = None if stopping else (int(r.state), r.retried, sorted([*r.to_retry, *(p.index for p in r.backing_off)]))
    counters = (r.running, r.succeeded, r.failed, r.next_fresh, r.unfinished)
    slots = len(g.slots)
    tasks = [np.trim_zeros(column, "b").tolist() for column in (r.task_state, r.failures, r.launches)]
    return (state, counters, slots, tasks)
