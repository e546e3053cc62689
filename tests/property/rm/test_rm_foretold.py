"""What previews of drains say of nodes, partitions, windows and ways out is what RMs go by."""

import datetime as dt
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contract import stored
from controlplane.policy.federation import reaches
from controlplane.rm.memory import windows
from controlplane.rm.memory.jobs import constraints
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.rows import NodeRow, PolicyRow, WindowRow
from controlplane.statestore.models import MaintenanceWindow
from controlplane.statestore.queries.drains import rooms
from controlplane.statestore.queries.nodes import maintenance
from simulator.specs import node_row
from simulator.workload import Machine
from tests.examples import examples

NAMES, RACKS = ("n0", "n1", "n2", "n3"), ("", "r0", "r1")
EXPRESSIONS = st.sampled_from(["", "gpu", "!gpu", "zone == a", "rack == r0", "node == n1 || gpu", "zone in (a, b)"])
LABELS = st.fixed_dictionaries({}, optional={"gpu": st.sampled_from(["", "x"]), "zone": st.sampled_from(["a", "b"])})
PARTITIONS = st.dictionaries(
    st.sampled_from(["p", "q"]),
    st.fixed_dictionaries({"nodes": EXPRESSIONS, "exclusive": st.booleans(), "rank": st.integers(0, 2)}),
)
GROUPS = st.fixed_dictionaries(
    {"node_labels": EXPRESSIONS},
    optional={
        "locality": st.fixed_dictionaries(
            {
                "nodes": st.lists(st.sampled_from(NAMES), max_size=2),
                "racks": st.lists(st.sampled_from(RACKS[1:]), max_size=1),
                "relax": st.booleans(),
            }
        )
    },
)
PROXIES = st.sampled_from(
    [
        {"policy": "home"},
        {"policy": "locality"},
        {"policy": "weighted", "parameters": {"weights": {"west": 1, "east": 2}}},
        {"policy": "weighted", "parameters": {"weights": {"east": 1}}},
    ]
)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """Nodes of random racks and labels under random partitions."""
    machines = [Machine(name, 1024, 1000, rack=draw(st.sampled_from(RACKS)), labels=draw(LABELS)) for name in NAMES]
    rows = [NodeRow(**node_row(no, machine)) for no, machine in enumerate(machines[: draw(st.integers(1, 4))], 1)]
    return Memory(1, QueueTree(1, [], PolicyRow(1, partitions=draw(PARTITIONS))), rows)


def rooms_of(m: Memory) -> list[rooms.Room]:
    return rooms.divided(m.queues.partitions, [row._asdict() for row in m.nodes.rows], {})


@examples(200)
@given(memories(), GROUPS)
def test_an_ask_may_use_the_same_nodes(m: Memory, group: dict[str, Any]) -> None:
    foretold, read = rooms_of(m), stored.group({"name": "g", "command": ["true"]} | group)
    assert [room.partition for room in foretold] == [m.partitions[number] for number in m.places().partition]
    may = m.mask(constraints("batch", read).mask(()))
    for number, name in enumerate(m.partitions):
        usable = np.zeros(len(foretold), np.bool_)
        usable[m.nodes_of(number)[0]] = True
        there = rooms.allowed(rooms.Constraints.of(read), rooms.of_partition(foretold, name))
        assert [room.name for room in there] == [m.nodes.rows[at].name for at in np.flatnonzero(usable & may)]


@st.composite
def planned(draw: st.DrawFn) -> MaintenanceWindow:
    """A window that is to come, is active or over; none of its times is that of the other."""
    begins = dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=draw(st.integers(-100, 100)))
    which = draw(st.sampled_from([{"node": "n1"}, {"rack": "r0"}, {"labels": "gpu"}, {"labels": "zone == a"}]))
    ends = begins + dt.timedelta(seconds=draw(st.integers(1, 100)))
    return MaintenanceWindow(starts_at=begins, ends_at=ends, lead_s=draw(st.integers(0, 100)), **which)


@examples(200)
@given(memories(), st.lists(planned(), max_size=3))
def test_a_window_keeps_the_same_nodes_from_work(m: Memory, rows: list[MaintenanceWindow]) -> None:
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    seen = [maintenance.Window.of(row) for row in rows]
    foretold = [any(w.active(now) and w.matches(node._asdict()) for w in seen) for node in m.nodes.rows]
    told = [
        WindowRow(row.node, row.rack, row.labels, row.message, micros(row.starts_at), micros(row.ends_at), row.lead_s)
        for row in rows
    ]
    windows.take(m.nodes, told)
    windows.settle(m.nodes, micros(now))
    assert m.nodes.closed[: len(m.nodes)].tolist() == foretold
    assert m.nodes.leaving[: len(m.nodes)].tolist() == foretold


def micros(at: dt.datetime) -> int:
    return int(at.timestamp()) * 1_000_000


@examples(50)
@given(PROXIES, st.permutations([1, 2, 3]))
def test_tasks_may_go_to_the_same_sub_clusters(proxy: dict[str, Any], subs: list[int]) -> None:
    numbers, components = {"west": 1, "east": 2, "north": 3}, {"amrmproxy": proxy}
    queues = QueueTree(1, [], PolicyRow(1, components=components))
    queues.resolve_proxies(numbers)
    foretold = reaches({"components": components}, numbers)("root", subs)
    assert foretold == [sub for sub, may in zip(subs, queues.proxy("root").reach(subs), strict=True) if may]
