"""Containers that end together leave what they leave one by one; slots are found as a dictionary would find them."""

import datetime as dt
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.nodes import NodeTable, R
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.rows import NodeRow
from controlplane.rm.steps import outcome
from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import GroupRun
from scheduler.lifecycle.job import JobRun
from tests.examples import examples
from wire.resources import AXES
from wire.states import ContainerReason, ContainerState, JobState, Want

SUB, EPOCH, NODES = 1, 3, 4
ENDS = [ContainerState.SUCCEEDED] * 3 + [ContainerState.FAILED, ContainerState.KILLED, ContainerState.LOST]
Shape = tuple[bool, list[tuple[int, int, int]]]  # service; per group its tasks, retries and devices per container

shapes = st.tuples(
    st.sampled_from([False, False, False, True]),
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=3),
)


def node(number: int, gpus: int = 60) -> NodeRow:
    room = dict.fromkeys(AXES, 1 << 20) | {"gpus": gpus}
    return NodeRow(10 + number, f"n{number}", "r", {}, **room, state=1, health=0, revoked=False)


def job_entry(number: int, shape: Shape) -> JobEntry:
    service, sizes = shape
    groups = []
    for no, (count, retries, gpus) in enumerate(sizes):
        after = (no - 1,) if no == 2 else ()
        needs = np.zeros(R, np.int64)
        needs[:3] = (100 + no, 10, gpus)
        run = GroupRun(no, f"g{no}", count, retries, after, service=service)
        groups.append(GroupEntry(run, needs, partial(bytes, [number, no]), 0))
    return JobEntry(JobRun(number, [g.run for g in groups]), groups, 7, "root", 0, dt.date(2026, 1, number))


class World:
    """A leader's memory and the changes it makes, without stores."""

    def __init__(self, jobs: list[Shape]):
        self.m = Memory(EPOCH, QueueTree(1, []), [node(n) for n in range(NODES)])
        self.jobs = [job_entry(number, shape) for number, shape in enumerate(jobs, 1)]
        self.c = Changes(at_us=1_000_000_000)
        for job in self.jobs:
            self.m.add_job(job)
            outcome.apply_instructions(self.m, self.c, job, master.admit(job.run))

    def wanting(self) -> list[tuple[int, int]]:
        return [(j, g.run.no) for j, job in enumerate(self.jobs) for g in job.groups if g.run.wanted]

    def start(self, j: int, no: int, nodes: list[int]) -> None:
        job = self.jobs[j]
        outcome.allocate(self.m, self.c, SUB, job, job.groups[no], np.array(nodes, np.int64))

    def live(self) -> list[int]:
        return sorted(self.m.containers.id[self.m.containers.live].tolist())

    def run(self, cids: list[int]) -> None:
        t = self.m.containers
        slots = t.slots_of(np.array(cids, np.int64))
        slots = slots[t.state[slots] < ContainerState.RUNNING]
        outcome.move(self.m, self.c, slots, np.full(len(slots), 2, np.uint8), np.full(len(slots), 5, np.uint32))

    def endings(self, ends: dict[int, tuple[int, int]]) -> np.ndarray:
        """``ENDING`` rows of container id -> (state, ran_ms)."""
        rows = np.zeros(len(ends), outcome.ENDING)
        rows["slot"] = self.m.containers.slots_of(np.array(list(ends), np.int64))
        rows["state"], rows["ran_ms"] = list(zip(*ends.values(), strict=True))
        rows["exit_code"] = rows["state"] == ContainerState.FAILED
        rows["reason"] = rows["exit_code"] * ContainerReason.EXIT_CODE
        rows["memory_mib"], rows["cpu_ms"] = 5, 6
        return rows

    def wake(self) -> None:
        self.c.at_us += 600_000_000
        for job in self.jobs:
            for group in job.groups:
                group.run.wake(self.c.at_us / 1e6)

    def told(self) -> dict[str, Any]:
        """All of the memory and the changes that anybody will read."""
        m, t, c = self.m, self.m.containers, self.c
        names = ("node", "state", "want", "task", "attempt", "gpus", "allocated_us", "started_us")
        slots = t.slots_of(np.array(self.live(), np.int64))
        blocks = ("new", "moved", "ended", "tasks_first", "tasks_again", "transitions")
        lists = ("jobs", "groups", "events", "usage")
        return {
            "containers": {name: getattr(t, name)[slots].tolist() for name in names},
            "nodes": (m.nodes.used.tolist(), m.nodes.containers.tolist(), m.nodes.gpu_held.tolist()),
            "ledger": [x.tolist() for x in (m.ledger.queues, m.ledger.users.held, m.ledger.jobs.held)],
            "dirty": sorted(m.dirty_nodes),
            "delayed": sorted(m.backing_off),
            "changes": {name: [row for block in getattr(c, name) for row in block.tolist()] for name in blocks},
            "entries": {name: list(getattr(c, name)) for name in lists},
            "usage": c.usage,
            "jobs": [self._job(job) for job in self.jobs],
        }

    def _job(self, job: JobEntry) -> tuple[Any, ...]:
        t = self.m.containers
        groups = [
            (g.finished_us, g.rowed.tolist(), sorted(t.id[list(g.slots)].tolist()), str(asdict(g.run)))
            for g in job.groups
        ]
        return job.id in self.m.jobs, job.finished_us, job.events, job.run.state, job.run.live, job.run.message, groups


def one_by_one(world: World, ends: dict[int, tuple[int, int]]) -> None:
    """The same moment, told container by container: group by group, successes first."""
    t = world.m.containers
    slots = dict(zip(ends, t.slots_of(np.array(list(ends), np.int64)).tolist(), strict=True))
    order = sorted(ends, key=lambda cid: (t.ask[slots[cid]], ends[cid][0] != ContainerState.SUCCEEDED))
    for cid in order:
        outcome.end(world.m, world.c, world.endings({cid: ends[cid]}))


def test_a_device_that_a_container_has_is_not_given_again_when_the_node_declares_it_anew() -> None:
    nodes = NodeTable([node(0, gpus=4)])
    assert [nodes.take_gpus(0, 1) for _ in range(4)] == [1, 2, 4, 8]
    for gpus in (2, 6, 63):
        nodes.put(node(0, gpus))
    assert nodes.take_gpus(0, 2) == 0b110000
    nodes.free_gpus(0, 0b1000)
    assert nodes.take_gpus(0, 1) == 0b1000
    assert nodes.gpu_held.tolist()[0] == 0b111111


@examples(150)
@given(st.lists(shapes, min_size=1, max_size=3), st.data())
def test_ending_together_is_ending_one_by_one(jobs: list[Shape], data: st.DataObject) -> None:
    together, singly = worlds = World(jobs), World(jobs)
    for _ in range(data.draw(st.integers(1, 8))):
        for j, no in together.wanting():
            wanted = together.jobs[j].groups[no].run.wanted
            nodes = data.draw(st.lists(st.integers(0, NODES - 1), max_size=wanted))
            if nodes:
                for w in worlds:
                    w.start(j, no, nodes)
        live = together.live()
        assert live == singly.live()
        if live:
            moved = data.draw(st.lists(st.sampled_from(live), unique=True))
            ends = data.draw(
                st.dictionaries(st.sampled_from(live), st.tuples(st.sampled_from(ENDS), st.integers(0, 9)), max_size=9)
            )
            for w in worlds:
                w.run(moved)
            if ends:
                outcome.end(together.m, together.c, together.endings(ends))
                one_by_one(singly, ends)
        assert together.told() == singly.told()
        for w in worlds:
            w.wake()


@examples(100)
@given(st.data())
def test_the_table_finds_what_a_dictionary_would(data: st.DataObject) -> None:
    world = World([(False, [(1_000_000, 0, 0)])])
    m, job = world.m, world.jobs[0]
    assert job.run.state == JobState.ADMITTED
    known: dict[int, int] = {}  # container id -> node
    for _ in range(data.draw(st.integers(1, 12))):
        nodes = data.draw(st.lists(st.integers(0, NODES - 1), max_size=40)) * data.draw(st.sampled_from([1, 1, 60]))
        if nodes:
            first = (SUB << 52 | EPOCH << 32) + m.counter + 1
            world.start(0, 0, nodes)
            m.counter += data.draw(st.sampled_from([0, 0, 1000, 1 << 20]))  # later ids end in bits that others end in
            known |= {first + i: at for i, at in enumerate(nodes)}
        if known:
            keep = data.draw(st.integers(0, 3))
            gone = [cid for cid in known if (cid + keep) % 3 < keep]
            if gone:
                outcome.end(m, world.c, world.endings(dict.fromkeys(gone, (ContainerState.SUCCEEDED, 1))))
            known = {cid: at for cid, at in known.items() if cid not in set(gone)}
        agrees(world, known)


def agrees(world: World, known: dict[int, int]) -> None:
    t = world.m.containers
    assert len(t) == len(known)
    asked = np.array([*known, 5, (SUB << 52 | EPOCH << 32) + world.m.counter + 1], np.int64)
    slots = t.slots_of(asked)
    assert slots[-2:].tolist() == [-1, -1]
    assert t.id[slots[:-2]].tolist() == list(known)
    assert t.node[slots[:-2]].tolist() == list(known.values())
    assert (t.want[slots[:-2]] == Want.RUN).all()
    some = np.array([0, 2], np.int64)
    held, starts = t.by_node(some)
    for i, at in enumerate(some.tolist()):
        assert sorted(t.id[held[starts[i] : starts[i + 1]]].tolist()) == sorted(c for c, n in known.items() if n == at)
