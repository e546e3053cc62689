"""The warm snapshot a leader keeps between rounds. Rebuilt from the StateStore at take-over."""

from typing import Any

import numpy as np

from controlplane.rm.containers import ContainerTable
from controlplane.rm.jobs import GroupEntry, JobEntry
from controlplane.rm.nodes import NodeTable, R
from controlplane.rm.queues import QueueTree
from controlplane.statestore.capacities import DEFAULT
from scheduler.core import labels
from scheduler.core.snapshot import AXIS, Asks, Jobs, Memo, Queues, Snapshot, Users


class Memory:
    """What the leader knows. ``asking``: groups that may want containers, in order of arrival."""

    def __init__(self, epoch: int, queues: QueueTree, nodes: list[dict[str, Any]]):
        self.epoch = epoch
        self.queues = queues
        self.nodes = NodeTable(nodes)
        self.containers = ContainerTable()
        self.jobs: dict[int, JobEntry] = {}
        self.asking: dict[tuple[int, int], tuple[JobEntry, GroupEntry]] = {}
        self.delayed: dict[tuple[int, int], GroupEntry] = {}  # groups with starts that wait for a back-off
        self.memo = Memo()
        self.counter = 0  # of container ids within this epoch
        self.round_number = 0
        self.dirty_nodes: set[int] = set()  # positions whose document must be published
        self.republish: set[int] = set()  # positions whose current document must be put again
        self.placeable = True  # something changed since the last plan that may let an ask be placed
        self._masks: dict[str, np.ndarray] = {}
        self._masks_version = -1

    def mask(self, expression: str) -> np.ndarray:
        """Nodes that match a label expression: (n,) bool, kept until a node changes."""
        if self._masks_version != self.nodes.labels_version:
            self._masks, self._masks_version = {}, self.nodes.labels_version
        found = self._masks.get(expression)
        if found is None:
            test = labels.parse(expression)
            found = np.array([test(row["labels"]) for row in self.nodes.rows], np.bool_)
            self._masks[expression] = found
        return found

    def capacity(self) -> np.ndarray:
        """Capacity of the nodes that are not lost: (R,) int64."""
        view = self.nodes.view()
        live = self.nodes.state[: len(self.nodes)] <= 2
        total: np.ndarray = view.capacity[live].sum(axis=0)
        return total

    def snapshot(self) -> tuple[Snapshot, list[tuple[JobEntry, GroupEntry]]]:
        """The arrays of a plan, and the owners of its asks by position."""
        owners = sorted(((j, g) for j, g in self.asking.values() if g.run.wanted), key=lambda o: (o[0].id, o[1].run.no))
        shapes: dict[bytes, int] = {}
        expressions: dict[str, int] = {}
        table: list[np.ndarray] = []
        shape = np.zeros(len(owners), np.int32)
        mask = np.zeros(len(owners), np.int32)
        for i, (_, g) in enumerate(owners):
            key = g.shape.tobytes()
            if key not in shapes:
                shapes[key] = len(shapes)
                table.append(g.shape)
            shape[i] = shapes[key]
            mask[i] = expressions.setdefault(g.node_labels, len(expressions))
        queues = self.queues.view(DEFAULT, self.capacity(), self.queues.used)
        users, jobs, job = self._people(owners, queues)
        asks = Asks(
            key=np.array([(j.id << 8) + g.run.no for j, g in owners], np.int64),
            count=np.array([g.run.wanted for _, g in owners], np.int64),
            job=job,
            shape=shape,
            mask=mask,
            since=np.zeros(len(owners)),
            gang=np.zeros(len(owners), np.bool_),
            fill=np.full(len(owners), -1, np.int8),
            near_from=np.zeros(len(owners) + 1, np.int32),
            near=np.empty(0, np.int32),
            near_rack_from=np.zeros(len(owners) + 1, np.int32),
            near_rack=np.empty(0, np.int32),
            duration=np.zeros(len(owners)),
            shapes=np.array(table, np.int64).reshape(-1, R),
            masks=np.array([self.mask(e) for e in expressions], np.bool_).reshape(len(expressions), len(self.nodes)),
        )
        return Snapshot(AXIS, self.nodes.view(), queues, users, jobs, asks), owners

    def _people(self, owners: list[tuple[JobEntry, GroupEntry]], queues: Queues) -> tuple[Users, Jobs, np.ndarray]:
        """Users and jobs of these asks, and the job of each ask."""
        users: dict[tuple[int, int], int] = {}
        jobs: dict[int, int] = {}
        priority, user = [], []
        for j, _ in owners:
            if j.id not in jobs:
                jobs[j.id] = len(jobs)
                priority.append(j.priority)
                user.append(users.setdefault((self.queues.at(j.queue), j.owner), len(users)))
        leaf = np.array([q for q, _ in users], np.int32)
        nothing = np.zeros((len(users), R), np.int64)
        return (
            Users(leaf, nothing, queues.maximum[leaf] if len(leaf) else nothing),
            Jobs(np.array(user, np.int32), np.array(priority, np.int32), np.zeros((len(jobs), R), np.int64)),
            np.array([jobs[j.id] for j, _ in owners], np.int32),
        )

    def watch(self, job: JobEntry) -> None:
        """Keep the job, and its groups as possible askers."""
        self.jobs[job.id] = job
        for group in job.groups:
            self.asking[job.id, group.run.no] = (job, group)

    def forget(self, job: JobEntry) -> None:
        """The job has ended."""
        self.jobs.pop(job.id, None)
        for group in job.groups:
            self.asking.pop((job.id, group.run.no), None)
            self.delayed.pop((job.id, group.run.no), None)
