"""The rows of a simulated StateStore: one object for the whole federation, with what its statements do.

What Postgres promises is kept: a transaction happens as a whole or not at all,
and the fence refuses whoever does not hold the newest epoch. Rows of jobs that
have ended are dropped unless ``keep_ended``, so that memory does not grow with
history, nor is the log of transitions kept.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from controlplane.policy import documents
from controlplane.rm.claims import Claimed, ClaimRequest, Key
from controlplane.rm.driver.load import ANYWAY_S
from controlplane.rm.rows import IntentRow, QueueRow, ReportRow, WindowRow
from controlplane.sharing.queues import FederationQueues, Row
from controlplane.statestore.acknowledgements import NodesRun
from controlplane.statestore.loads import Load
from controlplane.statestore.shares import Assignment
from simulator.clock import VirtualClock
from simulator.masterrows import MasterRows
from wire.resources import AXES, DIVISIBLE, Amounts
from wire.states import TERMINAL, JobState, NodeState

Json = dict[str, Any]


@dataclass(slots=True)
class Lease:
    """Who leads a sub-cluster. holder: "" when nobody does."""

    epoch: int = 0
    holder: str = ""


@dataclass(slots=True)
class LiveContainer:
    """A live container."""

    id: int
    node: int
    job: int
    group: int
    task: int
    attempt: int
    state: int
    gpus: int
    allocated_us: int
    started_us: int = 0
    divided: tuple[int, ...] = ()  # along ``DIVISIBLE``

    @property
    def amounts(self) -> Amounts:
        """What it was given."""
        given = dict(zip(DIVISIBLE, self.divided, strict=True)) | {"gpus": self.gpus.bit_count()}
        return tuple(given[axis] for axis in AXES)


@dataclass(frozen=True, slots=True)
class LoggedRound:
    """One round of the log. transitions: ``changes.TRANSITION``."""

    first: int
    last: int
    epoch: int
    transitions: np.ndarray


@dataclass(slots=True)
class SubCluster:
    """One sub-cluster's rows. nodes: the columns of ``NodeRow``, by id."""

    id: int
    name: str
    state: str = "running"
    lease: Lease = field(default_factory=Lease)
    nodes: dict[int, Json] = field(default_factory=dict)
    intents: list[IntentRow] = field(default_factory=list)
    containers: dict[int, LiveContainer] = field(default_factory=dict)
    reports: list[ReportRow] = field(default_factory=list)
    unread: set[tuple[int, int, int]] = field(default_factory=set)  # asks that it may not have answered
    load: Load | None = None
    loaded_at: float = 0.0
    shares: Assignment | None = None
    windows: list[WindowRow] = field(default_factory=list)  # of maintenance
    deadline_us: int | None = None  # of its drain
    acknowledged: tuple[int, int, NodesRun] | None = None  # by which epoch, the policy version, what its nodes run
    sequence: int = 0  # transitions written to the log so far
    log: list[LoggedRound] = field(default_factory=list)  # empty unless what has ended is kept
    sums: tuple[int, ...] | None = None  # of what its nodes have that are not lost; None: to be added up

    def capacity(self) -> tuple[int, ...]:
        """What its nodes have that are not lost, along the axis of resources."""
        if self.sums is None:
            alive = [row for row in self.nodes.values() if row["state"] <= NodeState.UNHEALTHY]
            self.sums = tuple(sum(row[name] for row in alive) for name in AXES)
        return self.sums


@dataclass(slots=True)
class Ask:
    """Demand of a job's group handed to a sub-cluster: the columns of its row."""

    base: int
    target: int
    taken: int
    wish: int
    work: bytes
    halt: bool
    version: int = 1
    acknowledged: int = 0
    reason: Json | None = None


@dataclass(slots=True)
class Policy:
    """The version in force. whole: its queues for the federation."""

    version: int
    document: Json
    queues: list[QueueRow]
    whole: FederationQueues
    pushed_us: int


class Federation:
    """All rows.

    groups: job -> per group a list of its counters, the last why it waits. tasks: job -> (group, index) -> (state,
    attempts, failures, the last container, when it ended in us). ends: job -> container that did not succeed -> (state,
    reason). asks: by job, group and sub-cluster. health: of containers, what their nodes' checks found.
    """

    def __init__(self, clock: VirtualClock, keep_ended: bool = False):
        self.clock, self.keep_ended = clock, keep_ended
        self.subs: dict[int, SubCluster] = {}
        self.jobs: dict[int, Json] = {}
        self.groups: dict[int, list[list[Any]]] = {}
        self.tasks: defaultdict[int, dict[tuple[int, int], tuple[int, int, int, int, int]]] = defaultdict(dict)
        self.ends: defaultdict[int, dict[int, tuple[int, int, int]]] = defaultdict(dict)
        self.asks: dict[tuple[int, int, int], Ask] = {}
        self.health: dict[int, bool] = {}
        self.counts: defaultdict[Key, dict[int, int]] = defaultdict(dict)  # admitted jobs, by sub-cluster
        self.counted: dict[int, int] = {}  # sub-cluster -> policy version under which it has counted
        self.masters = MasterRows()
        self.policy: Policy | None = None
        self.submitted = 0  # jobs, and the last one's id
        self._numbers = 0

    def number(self) -> int:
        """One that no row has yet."""
        self._numbers += 1
        return self._numbers

    def add_sub_cluster(self, number: int, name: str) -> SubCluster:
        """A sub-cluster more."""
        found = self.subs[number] = SubCluster(number, name)
        return found

    # What web does

    def publish(self, document: Json) -> Policy:
        """Put a policy document in force. Raises ``Invalid`` as web would."""
        full, rows = documents.validate(document, [sub.name for sub in self.subs.values()])
        version = self.policy.version + 1 if self.policy else 1
        names = [name for name in QueueRow._fields if name != "version"]
        queues = [QueueRow(**{name: getattr(row, name) for name in names}, version=version) for row in rows]
        settings = {name: full.get(name) for name in ("partitions", "components", "sub_clusters")}
        flat = [Row(row.path, row.parent_path, row.capacities, row.weight) for row in rows]
        whole = FederationQueues(version, flat, settings)
        self.policy = Policy(version, full, queues, whole, self.clock.now_us())
        for sub in self.subs.values():
            self.add_intent(sub.id, "policy")
        return self.policy

    def submit(self, home: int, row: Json) -> int:
        """Store a job, and the intent that tells its home of it; the job's id."""
        job = self.store(home, row)
        self.add_intent(home, "submit", job)
        return job

    def store(self, home: int, row: Json) -> int:
        """Store a job of which its home learns in another way; its id."""
        self.submitted += 1
        job = self.submitted
        self.jobs[job] = row | {
            "id": job, "home_id": home, "state": 0, "message": "", "epoch": 0, "admitted_us": 0, "started_us": 0,
            "finished_us": 0, "services": None, "revisions": [],
        }  # fmt: skip
        self.groups[job] = [[0, 0, 0, 0, 0, 0, None] for _ in row["spec"]["groups"]]
        return job

    def add_intent(self, sub: int, kind: str, job: int = 0, node: int = 0, **payload: Any) -> None:
        """Tell an RM what is wanted of it."""
        self.subs[sub].intents.append(IntentRow(self.number(), kind, job, node, payload))

    def loads(self) -> list[Load]:
        """What leaders have told, with its age. What has not changed is told all the same, if not in a simulation."""
        now = self.clock.now
        found = []
        for sub in self.subs.values():
            if sub.load is not None:
                led, age_s = bool(sub.lease.holder), now - sub.loaded_at
                age_s = min(age_s, ANYWAY_S) if led else age_s
                found.append(replace(sub.load, name=sub.name, state=sub.state, led=led, age_s=age_s))
        return found

    # Claims on limits that all sub-clusters share, as in statestore/admission.sql

    def admitted_elsewhere(self, me: int, version: int, keys: Sequence[Key]) -> dict[Key, int]:
        """What all other sub-clusters run of each key; who has not counted yet is counted by its jobs."""
        others = [sub for sub in self.subs if sub != me]
        found = {}
        for key in keys:
            known = self.counts.get(key, {})
            found[key] = sum(max(known.get(sub, 0), self._lagging(sub, version, key)) for sub in others)
        return found

    def _lagging(self, sub: int, version: int, key: Key) -> int:
        if self.counted.get(sub, 0) >= version:
            return 0
        queue, owner = key
        return sum(
            job["home_id"] == sub and JobState.ADMITTED <= job["state"] < TERMINAL and owner in (0, job["owner_id"])
            and f"{job['queue']}.".startswith(f"{queue}.")
            for job in self.jobs.values()
        )  # fmt: skip

    def claim(self, me: int, version: int, requests: Mapping[Key, ClaimRequest]) -> dict[Key, Claimed]:
        """Raise own counts as far as there is room, of a sub-cluster that has counted."""
        elsewhere = self.admitted_elsewhere(me, version, list(requests))
        found = {}
        for key, w in requests.items():
            granted = max(w.own, min(w.requested, w.most - elsewhere[key])) if me in self.counted else w.own
            self.counts[key][me] = granted
            found[key] = Claimed(elsewhere[key], granted)
        return found

    def forget(self, job: int) -> None:
        """A job has ended: drop what nobody reads any more."""
        if not self.keep_ended:
            self.jobs.pop(job, None)
            self.groups.pop(job, None)
            self.tasks.pop(job, None)
            self.ends.pop(job, None)
            self.masters.forget(job)
