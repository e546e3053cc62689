"""The map of the fleet: what a node's row and its leader's word become, and what a browser is told of it in steps."""

import base64
import json
import time
from typing import Any

import numpy as np
import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from controlplane.accounts.models import Role, User
from controlplane.statestore import bus
from controlplane.statestore.models import Container, Intent, Job, Node, SubCluster
from controlplane.statestore.queries.nodes import fleet
from controlplane.statestore.queries.nodes.fleetrows import COLUMNS, NEVER, WHOLE
from tests.integration.dashboard.tabs import tab
from tests.integration.leaders import say
from wire.states import NodeState

pytestmark = pytest.mark.django_db(transaction=True)
Told = dict[str, Any]


@pytest.fixture(autouse=True)
def board(monkeypatch: pytest.MonkeyPatch) -> fleet.WholeBoard:
    monkeypatch.setattr(fleet, "FRESH_S", 0.0)
    fresh = fleet.WholeBoard()
    monkeypatch.setattr(fleet, "board", fresh)
    bus.breaker._closed_at = 0.0
    bus.client().flushdb()
    return fresh


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_user("olga", password="x" * 12, role=Role.OPERATOR)


def add(home: SubCluster, name: str, rack: str = "r1", **more: Any) -> Node:
    has = {"memory_mib": 1000, "vcores_milli": 4000, "state": NodeState.UP}
    return Node.objects.create(sub_cluster=home, name=name, rack=rack, **has | more)


def column(part: Told, name: str) -> list[int]:
    return np.frombuffer(base64.b64decode(part["columns"][name]), COLUMNS[name]).tolist()  # type: ignore[no-any-return]


def standings(told: Told) -> list[str]:
    return [told["standings"][code] for code in column(told["sub_clusters"][0], "standing")]


def whole(board: fleet.WholeBoard) -> Told:
    return json.loads(board.look().whole())  # type: ignore[no-any-return]


def test_nodes_stand_by_rack_and_name_with_what_they_have_in_common_said_once(
    home: SubCluster, board: fleet.WholeBoard
) -> None:
    ten, two = add(home, "n10"), add(home, "n2", labels={"gpu": "true"}, gpus=8)
    far = add(home, "a1", rack="r02")
    add(home, "gone", state=NodeState.DECOMMISSIONED)
    (part,) = whole(board)["sub_clusters"]
    assert np.cumsum(part["ids"]).tolist() == [two.pk, ten.pk, far.pk]
    assert (part["names"], part["racks"]) == (["n2", "n10", "a1"], ["r1", 2, "r02", 1])
    assert [(k["labels"], k["capacity"]["gpus"]) for k in part["kinds"]] == [({"gpu": "true"}, 8), ({}, 0)]
    assert part["kind"] == [0, 1, 1, 2]
    assert column(part, "silent") == [NEVER] * 3, "nobody has said anything of them"


def test_shares_are_never_rounded_up_and_what_is_not_nothing_shows(home: SubCluster, board: fleet.WholeBoard) -> None:
    a, b, c = (add(home, f"n{i}", gpus=i) for i in range(3))
    say(home, {"id": a.pk, "memory_mib": 999, "gpus": 3, "containers": 70_000}, {"id": b.pk, "memory_mib": 1},
        {"id": c.pk, "memory_mib": 1000, "used_cpu_milli": 9000, "gpus": 1, "held": 1})  # fmt: skip
    (part,) = whole(board)["sub_clusters"]
    assert column(part, "memory") == [WHOLE - 1, 1, WHOLE]
    assert (column(part, "gpus"), column(part, "used_cores")) == ([0, 0, WHOLE // 2], [0, 0, WHOLE])
    assert (column(part, "held"), column(part, "containers")) == ([0, 0, 1], [65_535, 0, 0])
    assert column(part, "silent") == [0, 0, 0]


def test_a_silent_node_and_a_silent_leaders_nodes_are_stale_since_they_were_heard(
    home: SubCluster, board: fleet.WholeBoard
) -> None:
    a, b = add(home, "n1"), add(home, "n2")
    now = time.time()
    say(home, {"id": a.pk, "age_ms": 100}, {"id": b.pk, "age_ms": 9_000, "state": NodeState.LOST}, at=now)
    told = whole(board)
    assert standings(told) == ["UP", "LOST"]
    first, second = column(told["sub_clusters"][0], "silent")
    assert first == 0 and abs(second - (now - 9)) <= 1
    say(home, {"id": a.pk, "age_ms": 100}, {"id": b.pk}, at=now - 60)
    first, second = column(whole(board)["sub_clusters"][0], "silent")
    assert abs(first - (now - 60.1)) <= 1 and abs(second - (now - 60)) <= 1
    bus.client().flushdb()
    assert column(whole(board)["sub_clusters"][0], "silent") == [first, second], "the last word is kept, and grows old"


def test_standings_say_what_operators_have_made_of_a_node(home: SubCluster, board: fleet.WholeBoard) -> None:
    duties = [
        Node.Duty.IN_SERVICE,
        Node.Duty.CORDONED,
        Node.Duty.DRAINING,
        Node.Duty.DRAINING,
        Node.Duty.DECOMMISSIONED,
    ]
    nodes = [add(home, f"n{i}", duty=duty) for i, duty in enumerate(duties)]
    busy = {nodes[2].pk, nodes[4].pk}
    say(home, *({"id": n.pk, "containers": int(n.pk in busy)} for n in nodes))
    assert standings(whole(board)) == ["UP", "CORDONED", "DRAINING", "DRAINED", "LEAVING"]
    Intent.objects.create(sub_cluster=home, kind=Intent.Kind.NODE, node_id=nodes[3].pk)
    assert standings(whole(board))[3] == "DRAINING", "its RM has not heard of it"
    SubCluster.objects.update(state=SubCluster.State.DRAINING)
    assert standings(whole(board)) == ["DRAINED", "DRAINED", "DRAINING", "DRAINING", "LEAVING"]


def test_after_a_look_only_what_changed_is_told(home: SubCluster, board: fleet.WholeBoard) -> None:
    nodes = [add(home, f"n{i}") for i in range(5)]
    say(home, *({"id": n.pk} for n in nodes))
    one = board.look()
    two = board.look()
    assert two.look > one.look and two.after(one.look) is None
    say(home, *({"id": n.pk, "memory_mib": 500 * (n == nodes[3])} for n in nodes))
    three = board.look()
    told = json.loads(three.after(two.look) or "")
    (part,) = told["sub_clusters"]
    assert np.frombuffer(base64.b64decode(part["rows"]), "<u4").tolist() == [3] and "names" not in part
    assert column(part, "memory") == [WHOLE // 2]
    assert three.after(one.look) == three.after(two.look), "an older look is told the same, as nothing lay between"
    say(home, *({"id": n.pk, "memory_mib": 100} for n in nodes))
    (part,) = json.loads(board.look().after(three.look) or "")["sub_clusters"]
    assert "rows" not in part and column(part, "memory") == [WHOLE // 10] * 5
    four = board.look()
    Node.objects.filter(pk=nodes[0].pk).update(rack="r9")
    (part,) = json.loads(board.look().after(four.look) or "")["sub_clusters"]
    assert part["names"] == ["n1", "n2", "n3", "n4", "n0"]
    five = board.look()
    SubCluster.objects.create(name="empty")
    assert [p["name"] for p in json.loads(board.look().after(five.look) or "")["sub_clusters"]] == ["empty", "west"]


async def test_a_browser_is_told_the_whole_then_steps_and_the_whole_again_when_it_asks(
    olga: User, home: SubCluster
) -> None:
    node = await sync_to_async(add)(home, "n1")
    await sync_to_async(say)(home, {"id": node.pk})
    async with tab(olga) as mine:
        await mine.say(subscribe=["fleet"])
        first = await mine.hear()
        assert (first["topic"], first["seq"], first["snapshot"]["sub_clusters"][0]["names"]) == ("fleet", 1, ["n1"])
        await sync_to_async(say)(home, {"id": node.pk, "memory_mib": 1000})
        second = await mine.hear()
        assert second["seq"] == 2 and column(second["delta"]["sub_clusters"][0], "memory") == [WHOLE]
        await mine.say(resync=["fleet"])
        third = await mine.hear()
    assert third["seq"] == 3 and column(third["snapshot"]["sub_clusters"][0], "memory") == [WHOLE]


def test_a_tenant_is_told_of_its_own_containers_alone(alice: User, bob: User, olga: User, home: SubCluster) -> None:
    a, b = add(home, "n1", gpus=2), add(home, "n2")
    lost = {"state": NodeState.LOST, "age_ms": 9_000}
    say(home, {"id": a.pk, "memory_mib": 900, "used_memory_mib": 800, "gpus": 2, "containers": 5},
        {"id": b.pk, "memory_mib": 500, "containers": 1, "held": 1} | lost)  # fmt: skip
    now = timezone.now()
    for number, owner in enumerate((alice, bob), 1):
        job = Job.objects.create(name="j", queue="root.a", owner=owner, spec={}, home=home, submitted_at=now)
        Container.objects.create(
            id=number, sub_cluster_id=home.pk, node_id=a.pk, job_id=job.pk, group_no=0, task_index=0, attempt=1,
            state=2, epoch=1, memory_mib=100 * number, vcores_milli=2000, gpus=number, allocated_at=now,
        )  # fmt: skip
    told = json.loads(fleet.look(alice).whole())
    (part,) = told["sub_clusters"]
    assert told["own"] and standings(told) == ["UP", "LOST"] and column(part, "silent")[1] > NEVER
    assert (column(part, "memory"), column(part, "cores")) == ([WHOLE // 10, 0], [WHOLE // 2, 0])
    assert (column(part, "gpus"), column(part, "containers")) == ([WHOLE // 2, 0], [1, 0])
    assert sum(column(part, "used_memory") + column(part, "used_cores") + column(part, "held")) == 0
    assert column(json.loads(fleet.look(bob).whole())["sub_clusters"][0], "memory") == [WHOLE // 5, 0]
    whole = json.loads(fleet.look(olga).whole())
    assert not whole["own"] and column(whole["sub_clusters"][0], "containers") == [5, 1]
    assert fleet.look(alice).line != fleet.look(olga).line
