"""The warm snapshot a leader keeps between rounds. Rebuilt from the StateStore at take-over."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from controlplane.rm.memory.admissionqueue import AdmissionQueue
from controlplane.rm.memory.application import Launch, Masters
from controlplane.rm.memory.asks import NOWHERE, AskTable, Mask
from controlplane.rm.memory.containers import ContainerTable
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.ledger import Ledger
from controlplane.rm.memory.nodes import NodeTable
from controlplane.rm.memory.observed import Observed
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.memory.shares import KnownShares
from controlplane.rm.memory.templates import Templates
from controlplane.rm.rows import NodeRow
from controlplane.statestore.capacities import DEFAULT
from scheduler.core.nodeselection import NodeColumns, partition_of_ask, partition_of_node, usable_partitions
from scheduler.core.snapshot import Memo
from wire.resources import Amounts
from wire.states import LIVE_NODE_MAX


@dataclass(slots=True)
class _Places:
    """What follows from the nodes' names, racks and labels, until one of them changes."""

    version: tuple[int, int] = (-1, -1)
    columns: NodeColumns | None = None  # made when an ask first needs them
    masks: dict[Mask, np.ndarray] = field(default_factory=dict)
    node: dict[str, int] = field(default_factory=dict)  # name -> position
    partition: np.ndarray = field(default_factory=lambda: np.empty(0, np.int16))  # of each node
    nodes: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # by partition, as ``nodes_of`` says


class Memory:
    """What the leader knows. ``asking``: groups that may want containers, in order of arrival.

    partitions: names, the default one last; what is idle in shared ones is
    offered to it after their own asks were served.
    """

    def __init__(self, epoch: int, queues: QueueTree, nodes: Sequence[NodeRow]):
        self.epoch = epoch
        self.nodes = NodeTable(nodes)
        self.containers = ContainerTable()
        self.jobs: dict[int, JobEntry] = {}
        self.asking: dict[tuple[int, int], tuple[JobEntry, GroupEntry]] = {}
        self.backing_off: dict[tuple[int, int], GroupEntry] = {}  # groups with starts that wait for a back-off
        self.asks = AskTable()
        self.behind: dict[tuple[int, int], GroupEntry] = {}  # groups whose rows a former leader did not finish
        self.stale: set[tuple[int, int]] = set()  # groups that may want more or less than their row says
        self.memos: dict[str, Memo] = {}  # by partition
        self.short_of_room: set[str] = set()  # partitions whose own asks found no room in their last plan
        self.guests: set[int] = set()  # jobs at home elsewhere
        self.spanning: set[tuple[int, int]] = set()  # groups of which tasks may wait in other sub-clusters
        self.warned: dict[int, str] = {}  # container id -> why it will be stopped
        self.room_due: dict[str, float] = {}  # queue -> when room is made for it, s
        self.preempted: set[int] = set()  # containers told to stop for others' sake
        self.observed = Observed()
        self.masters = Masters()
        self.templates = Templates()
        self.counter = 0  # of container ids within this epoch
        self.round_number = 0
        self.dirty_nodes: set[int] = set()  # positions whose document must be published
        self.republish: set[int] = set()  # positions whose current document must be put again
        self.restarting: dict[tuple[int, int], tuple[JobEntry, GroupEntry]] = {}  # services with tasks to start again
        self.rolling: dict[int, JobEntry] = {}  # services that roll over to another revision
        self.restarts_due_us = 0  # when to look at those next
        self.resumed: list[JobEntry] = []  # jobs that a former leader was stopping
        # Groups at home here that no node here could hold, were it empty, and which sub-clusters could, once known.
        self.unheld: dict[tuple[int, int], list[str] | None] = {}
        self.guests_unheld: set[tuple[int, int]] = set()  # of jobs at home elsewhere
        self.unjudged: dict[
            int, None
        ] = {}  # jobs of which that is to be found out, in turn: new ones, and changed ones
        self.outdated = False  # jobs have moved here from elsewhere: the memory is to be rebuilt
        self.placeable = True  # something changed since the last plan that may let an ask be placed
        self._places = _Places()
        self.shares = KnownShares()
        self.admission_queue = AdmissionQueue(queues, 1, {})
        self.take_queues(queues)

    def take_queues(self, queues: QueueTree) -> None:
        """A policy is in force: count everything anew under its queues and partitions."""
        self.queues, queues.shares = queues, self.shares
        self.room_due = {}
        self.partitions = [p.name for p in queues.partitions] + [DEFAULT]
        self.ledger = Ledger(len(self.partitions), len(queues.paths))
        self.asks.limit[:] = -1  # queues are at other positions
        self.admission_queue = AdmissionQueue(queues, len(self.partitions), self.admission_queue.patience())
        self._drop_reservations({name: memo for name, memo in self.memos.items() if name in self.partitions})
        self.observed.only(self.partitions)
        for job in self.jobs.values():
            self.ledger.enter(job, queues.at(job.queue))
            for group in job.groups:
                group.partition = self._partition_of(job, group.constraints.partition)
                self.ledger.charge(job, group.partition, self.group_holds(group))
                self.stale.add((job.id, group.run.no))
            self._place_declared(job)
            if not job.home:
                self.admission_queue.enter(job, known=True)

    def _place_declared(self, job: JobEntry) -> None:
        """Which partition what its own master declares belongs to, under the queues in force."""
        if job.application is not None and (declared := job.application.declared) is not None:
            declared.at = self._partition_of(job, declared.partition)

    def _partition_of(self, job: JobEntry, name: str | None) -> int:
        usual = self.queues.default_partition[job.queue_row]
        return self.partitions.index(partition_of_ask(self.queues.partitions, name, usual))

    def places(self) -> _Places:
        """Worked out again when a node or the partitions changed."""
        p, version = self._places, (self.nodes.labels_version, self.queues.version)
        if p.version != version:
            rows, before = self.nodes.rows, p.partition
            p = self._places = _Places(version, node={row.name: at for at, row in enumerate(rows)})
            of = partition_of_node(self.queues.partitions)
            p.partition = np.array([of(row.name, row.rack, row.labels) for row in rows], np.int16)
            if not np.array_equal(p.partition[: len(before)], before):
                self._drop_reservations(self.memos)
            for job, group in self.asking.values():
                self._resolve_constraints(job, group)
        return p

    def _drop_reservations(self, memos: dict[str, Memo]) -> None:
        """Keep these memos without the nodes held in them: those may be in other partitions now."""
        self.memos = {name: _without_reservations(memo) for name, memo in memos.items()}

    def release_reservations(self, partition: str) -> None:
        """Nobody asks for anything in the partition: no node is held there."""
        memo = self.memos.get(partition)
        if memo is not None and len(memo.reserved):
            self.memos[partition] = _without_reservations(memo)

    def mask(self, mask: Mask) -> np.ndarray:
        """Nodes an ask may use at all: (n,) bool, kept until a node changes."""
        known = self.places().masks
        found = known.get(mask)
        if found is None:
            if len(known) > 2 * len(self.asks.masks) + 64:
                known.clear()
            expression, nodes, racks, avoided = mask
            if self._places.columns is None:
                self._places.columns = NodeColumns((row.name, row.rack, row.labels) for row in self.nodes.rows)
            found = self._places.columns.of_ask(expression, True, nodes, racks)
            found[[at for at in avoided if at < len(found)]] = False
            known[mask] = found
        return found

    def _resolve_constraints(self, job: JobEntry, group: GroupEntry) -> None:
        """Where the group may and would rather run, as positions."""
        w, p = group.constraints, self._places
        if not (w.near or w.racks):
            self.asks.where(group, w.mask(job.avoided), NOWHERE, NOWHERE)
            return
        near = np.array([p.node[name] for name in w.near if name in p.node], np.int32)
        racks = np.array([self.nodes.racks[name] for name in w.racks if name in self.nodes.racks], np.int32)
        self.asks.where(group, w.mask(job.avoided), near, racks)

    def clear_marks(self, ids: np.ndarray) -> None:
        """These containers have ended: nobody need be told any more that they make way, or would."""
        if self.observed.notified:
            self.observed.forget(ids.tolist())
        if self.warned or self.preempted:
            for cid in ids.tolist():
                self.warned.pop(cid, None)
                self.preempted.discard(cid)

    def avoid(self, job: JobEntry, nodes: list[int]) -> None:
        """Attempts of the job failed at these positions; where too many did it asks no more."""
        limits = self.queues.components.failing_nodes.parameters
        alive = self.nodes.state[: len(self.nodes)] <= LIVE_NODE_MAX
        before, all_of_them = job.avoided, int(alive.sum())
        most = max(1, int(limits.max_node_share * all_of_them + 1e-6))
        for node in nodes:
            job.failures[node] = job.failures.get(node, 0) + 1
            bad = job.failures[node] >= limits.job_failures and node not in job.avoided
            avoided = int(alive[list(job.avoided)].sum())
            if bad and avoided < most and avoided + 1 < all_of_them:
                job.avoided = tuple(sorted({*job.avoided, node}))
        if job.avoided != before:
            self.places()
            for group in job.groups:
                self._resolve_constraints(job, group)

    def nodes_of(self, partition: int) -> tuple[np.ndarray, np.ndarray]:
        """(positions a plan of the partition may use, which of them are its own).

        The default partition may also use what is idle in shared ones. Kept until a node changes: not to be written.
        """
        known = self.places().nodes
        if partition not in known:
            known[partition] = self._nodes_of(partition)
        return known[partition]

    def _nodes_of(self, partition: int) -> tuple[np.ndarray, np.ndarray]:
        of = self.places().partition
        positions = np.flatnonzero(np.isin(of, usable_partitions(self.queues.partitions, partition)))
        return positions, of[positions] == partition

    def holders(self, partition: int) -> tuple[np.ndarray, np.ndarray]:
        """Slots of live containers: (those of the partition's own asks, those of others' on its own nodes)."""
        t = self.containers
        live = np.flatnonzero(t.live)
        if len(self.partitions) == 1:
            return live, live[:0]
        own = self.asks.partition[t.ask[live]] == partition
        there = self.places().partition[t.node[live]] == partition
        return live[own], live[there & ~own]

    def containers_hold(self, slots: np.ndarray) -> np.ndarray:
        """What each of these containers was given: (k, R) int64."""
        table, at = self.asks.shapes_of(self.containers.ask[slots])
        found: np.ndarray = table[at]
        return found

    def group_holds(self, group: GroupEntry) -> np.ndarray:
        """What all containers of the group here have together: (R,) int64."""
        if not group.former_rows:
            return group.shape * len(group.slots)
        found: np.ndarray = self.containers_hold(np.array(list(group.slots), np.int64)).sum(axis=0)
        return found

    def reclaimed_nodes(self) -> np.ndarray:
        """Nodes of partitions with a name on which room is being made for their own asks: (n,) bool."""
        found = np.zeros(len(self.nodes), np.bool_)
        going = [np.fromiter(self.preempted, np.int64, len(self.preempted))]
        for number, partition in enumerate(self.queues.partitions):
            memo = self.memos.get(partition.name)
            if memo is not None:
                found[self.nodes_of(number)[0][memo.reserved_node]] = True
                going.append(memo.warned)
        slots = self.containers.slots_of(np.concatenate(going))
        found[self.containers.node[slots[slots >= 0]]] = True
        return found

    def contended_nodes(self) -> np.ndarray:
        """Nodes of partitions whose own asks wait for room there, and take what becomes free: (n,) bool."""
        short = [number for number, name in enumerate(self.partitions) if name in self.short_of_room]
        found: np.ndarray = np.isin(self.places().partition, short)
        return found

    def warned_elsewhere(self, partition: int, ids: np.ndarray) -> np.ndarray:
        """Which of these containers are to make way, or would, for asks of another partition: (k,) bool."""
        name = self.partitions[partition]
        others = [memo.warned for of, memo in self.memos.items() if of != name and len(memo.warned)]
        others += [marked for of, (marked, _) in self.observed.marks.items() if of != name]
        return np.isin(ids, np.concatenate(others)) if others else np.zeros(len(ids), np.bool_)

    def capacity(self, positions: np.ndarray) -> np.ndarray:
        """Capacity of those of these nodes that are not lost: (R,) int64."""
        live = self.nodes.state[positions] <= LIVE_NODE_MAX
        total: np.ndarray = live @ self.nodes.capacity.take(positions, axis=0)
        return total

    def refresh(self, touched: Iterable[tuple[int, int]], now: float) -> None:
        """Take in what these groups, and those known to be stale, want now."""
        self.stale.update(touched)
        for key in self.stale:
            found = self.asking.get(key)
            if found is not None:
                self.asks.refresh(*found, now)
        self.stale.clear()

    def reprioritise(self, job: JobEntry, priority: int) -> None:
        """The job has another priority from now on."""
        job.priority = self.ledger.jobs.priority[job.row] = priority
        self.admission_queue.reorder(job)

    def move(self, job: JobEntry, queue: str) -> None:
        """The job is in another queue from now on, with all it holds; what of it is admitted stays so."""
        if not job.home:
            self.admission_queue.leave(job)
        self._charge_all(job, -1)
        self.ledger.leave(job)
        job.queue = queue
        self.ledger.enter(job, self.queues.at(queue))
        for group in job.groups:
            group.partition = self._partition_of(job, group.constraints.partition)
            self.stale.add((job.id, group.run.no))
        self.unjudged[job.id] = None
        self._place_declared(job)
        self._charge_all(job, 1)
        if not job.home:
            self.admission_queue.enter(job, known=True)
        self.placeable = True

    def _charge_all(self, job: JobEntry, sign: int) -> None:
        for group in job.groups:
            self.ledger.charge(job, group.partition, sign * self.group_holds(group))

    def add_job(self, job: JobEntry, known: bool = False) -> None:
        """Keep the job, and its groups as possible askers. known: a former leader had it already."""
        self.jobs[job.id] = job
        self.ledger.enter(job, self.queues.at(job.queue))
        self.places()
        for group in job.groups:
            self.enlist(job, group)
        self._place_declared(job)
        self.masters.enter(job)
        if job.home:
            self.guests.add(job.id)
        else:
            self.admission_queue.enter(job, known)

    def enlist(self, job: JobEntry, group: GroupEntry) -> None:
        """Keep a group of a job that is watched as a possible asker."""
        key = job.id, group.run.no
        self.asking[key] = (job, group)
        group.partition = self._partition_of(job, group.constraints.partition)
        self.asks.enter(job, group)
        self._resolve_constraints(job, group)
        self.stale.add(key)
        self.unjudged[job.id] = None

    def need_template(self, group: GroupEntry) -> None:
        """Containers of the group are about to begin."""
        if not group.needs_template:
            group.needs_template = True
            self.templates.enter(group.digest)

    def release_template(self, job: JobEntry, group: GroupEntry) -> None:
        """Nothing of the group begins any more. What a former leader has put goes as well."""
        if group.needs_template or group.run.next_fresh or job.home:
            self.need_template(group)
            group.needs_template = False
            self.templates.leave(group.digest)

    def revise(self, job: JobEntry, group: GroupEntry, other: GroupEntry) -> None:
        """The group's containers run what the other one says from now on, and have what it says; those that have begun
        run on as they are."""
        if group.needs_template:
            group.former.append(group.digest)
            group.needs_template = False
        reshaped = group.amounts != other.amounts
        group.revise(other)
        if reshaped:
            self.asks.count[group.row] = 0
            group.former_rows.append(group.row)
            self.asks.enter(job, group)
        else:
            self.asks.constrain(group)
            self.containers.revised(group)
        concerned = job.groups if job.avoided else [group]
        job.failures, job.avoided = {}, ()  # nodes were not to blame for what it ran before
        self.places()
        for each in concerned:
            self._resolve_constraints(job, each)
        self.stale.add((job.id, group.run.no))
        self.unjudged[job.id] = None

    def former_row(self, job: JobEntry, group: GroupEntry, had: Amounts) -> int:
        """A row for containers of an earlier revision that have these amounts (a new leader's rebuild)."""
        for row in group.former_rows:
            if self.asks.amounts(row) == had:
                return row
        now = group.row, group.shape
        group.shape = np.array(had, np.int64)
        self.asks.enter(job, group)
        group.former_rows.append(group.row)
        group.row, group.shape = now
        self.stale.add((job.id, group.run.no))
        return group.former_rows[-1]

    def release_former(self, group: GroupEntry) -> None:
        """Nothing of another revision of the group begins any more; what still ends keeps its row."""
        for digest in group.former:
            self.templates.leave(digest)
        group.former = []
        if group.former_rows:
            held = set(self.containers.ask[list(group.slots)].tolist())
            for row in [row for row in group.former_rows if row not in held]:
                group.former_rows.remove(row)
                self.containers.disown(row)
                self.asks.leave(row)

    def launch(self, cid: int, launch: Launch) -> None:
        """This container runs what was said for it alone."""
        self.masters.launches[cid] = launch
        self.templates.enter(launch.digest)

    def forget_launches(self, ids: Iterable[int]) -> None:
        """These containers have ended."""
        for cid in ids if self.masters.launches else ():
            launch = self.masters.launches.pop(cid, None)
            if launch is not None:
                self.templates.leave(launch.digest)

    def forget(self, job: JobEntry) -> None:
        """The job has ended."""
        if self.jobs.pop(job.id, None) is None:
            return
        self.ledger.leave(job)
        self.masters.leave(job)
        self.guests.discard(job.id)
        if not job.home:
            self.admission_queue.leave(job)
        for group in job.groups:
            key = job.id, group.run.no
            self.asks.leave(group.row)
            self.asking.pop(key, None)
            self.backing_off.pop(key, None)
            self.release_template(job, group)
            self.release_former(group)


def _without_reservations(memo: Memo) -> Memo:
    none = Memo()
    return replace(
        memo, cursor=0, reserved=none.reserved, reserved_node=none.reserved_node, reserved_at=none.reserved_at
    )
