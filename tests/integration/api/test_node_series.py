"""The history of each node: sampled once a minute from what leaders say, read like any other history."""

import datetime as dt
import random
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from controlplane.statestore import bus
from controlplane.statestore.models import Node
from controlplane.statestore.series import duty, nodes
from tests.integration.api.world import World
from tests.integration.leaders import say
from wire.states import NodeState

MINUTE = dt.datetime(2030, 5, 2, 8, 0, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def empty(world: World) -> None:
    bus.breaker._closed_at = 0.0
    bus.client().flushdb()


def count() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM statestore_nodeseries")
        return int(cursor.fetchone()[0])


def test_every_node_has_a_sample_a_minute_and_silent_ones_a_gap(world: World) -> None:
    rng = random.Random(1)
    ids = rng.sample(range(1, 1000), 150)
    truth: dict[int, list[float | None]] = {i: [] for i in ids}
    for minute in range(5):
        for home, own in ((world.west, ids[:90]), (world.east, ids[90:])):
            told = []
            for i in own:
                silent = rng.random() < 0.2
                truth[i].append(None if silent else float(i + minute))
                told.append({"id": i, "memory_mib": i + minute, "age_ms": nodes.FRESH_MS + 1 if silent else 5})
            say(home, *told)
        nodes.sample(MINUTE + dt.timedelta(minutes=minute), [world.west.pk, world.east.pk])
    for i in ids:
        assert nodes.read(i, MINUTE, 60, 5)["allocated_memory_mib"] == truth[i]
        known = [v for v in truth[i] if v is not None]
        assert nodes.read(i, MINUTE, 300, 1)["allocated_memory_mib"] == [sum(known) / len(known) if known else None]
        fine = nodes.read(i, MINUTE + dt.timedelta(seconds=50), 10, 3)["allocated_memory_mib"]
        assert fine == [truth[i][0], truth[i][1], truth[i][1]]
    assert nodes.read(1001, MINUTE, 60, 5)["used_memory_mib"] == [None] * 5


def test_the_duty_samples_each_minute_once_and_drops_old_ones(world: World) -> None:
    say(world.west, {"id": 5, "memory_mib": 7, "used_memory_mib": 3})
    for s in (0, 10, 30, 50, 70, 80, 130):
        duty.run(MINUTE + dt.timedelta(seconds=s))
    assert nodes.read(5, MINUTE, 60, 4)["used_memory_mib"] == [3.0, 3.0, 3.0, None]
    assert count() == 3
    with connection.cursor() as cursor:
        cursor.execute("UPDATE statestore_nodeseries SET at = at - interval '9 years' WHERE at = %s", [MINUTE])
    duty.purge()
    assert count() == 2


def test_it_is_read_as_the_scope_of_a_node_by_those_who_see_everything(
    world: World, django_assert_max_num_queries: Any
) -> None:
    node = Node.objects.create(
        sub_cluster=world.west, name="n1", rack="r", memory_mib=8, vcores_milli=8, state=NodeState.UP
    )
    say(world.west, {"id": node.pk, "vcores_milli": 250, "used_cpu_milli": 100, "gpus": 1})
    now = timezone.now()
    duty.run(now)
    query = f"series?metric=allocated_vcores_milli,used_vcores_milli,allocated_gpus,nodes_up&scope=node:{node.pk}"
    with django_assert_max_num_queries(20):
        found = world["viewer"].get(query).json()["series"]
    last = {s["metric"]: [v for v in s["values"] if v is not None][-1] for s in found}
    assert last == {"allocated_vcores_milli": 250, "used_vcores_milli": 100, "allocated_gpus": 1}
    assert world["tenant"].get(query).status_code == 404
    for wrong in ("0", f"0{node.pk}", "x", "-1", "9" * 30, str(node.pk + 1)):
        answer = world["viewer"].get(f"series?metric=allocated_gpus&scope=node:{wrong}")
        assert answer.status_code == 404 and "node:<id>" in answer.json()["detail"], wrong
