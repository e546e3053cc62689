"""A queue that is asked for means those below it, too: of jobs, of schedules and of what was used."""

import datetime as dt
import json
from typing import Any

import pytest

from controlplane.statestore.models import UsageHour, UsageTag
from controlplane.statestore.queries.jobs import walk
from tests.integration.api.world import World, job

PLACES = ["root.prod.etl", "root.prod.web", "root.default"]


def found(world: World, who: str, address: str, name: str) -> list[Any]:
    answer = world[who].get(address)
    assert answer.status_code == 200, answer.content
    return sorted(row[name] for row in answer.json()["results"])


@pytest.mark.parametrize("most", [walk.MOST_QUEUES, 1])
def test_jobs_of_a_queue_are_those_of_its_branch(world: World, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(walk, "MOST_QUEUES", most)
    for place in PLACES:
        made = world["submitter"].post("jobs", job(queue=place, tags=["x"]))
        assert made.status_code == 201, made.content
    assert world["other"].post("jobs", job(queue="root.default")).status_code == 201
    prod = PLACES[:2]
    for who in ("submitter", "admin", "operator", "viewer"):
        assert found(world, who, "jobs?queue=root.prod", "queue") == prod
        assert found(world, who, "jobs?queue=root.prod&tag=x&state=live", "queue") == prod
        assert found(world, who, "jobs?queue=root.prod.web", "queue") == prod[1:]
    assert found(world, "submitter", "jobs?queue=root&tag=x", "queue") == sorted(PLACES)
    assert found(world, "admin", "jobs?queue=root", "queue") == prod
    assert found(world, "operator", "jobs?queue=root&owner=other", "owner") == ["other"]
    assert found(world, "other", "jobs?queue=root", "owner") == ["other"]
    for nothing in ("root.pro", "root.prod.", "root.prod.%", "root.pr_d", "root.none"):
        assert found(world, "operator", f"jobs?queue={nothing.replace('%', '%25')}", "queue") == []
    assert found(world, "other", "jobs?queue=root.prod", "queue") == []


def test_schedules_of_a_queue_are_those_of_its_branch(world: World) -> None:
    for at, place in enumerate(PLACES):
        asked = {"name": f"s{at}", "cron": "0 3 * * *", "zone": "UTC", "job": json.dumps(job(queue=place))}
        assert world["submitter"].post("schedules", asked).status_code == 201
    assert found(world, "operator", "schedules?queue=root.prod", "name") == ["s0", "s1"]
    assert found(world, "admin", "schedules?queue=root.prod.web", "name") == ["s1"]
    assert found(world, "operator", "schedules?queue=root.pro", "name") == []


def test_what_was_used_in_a_queue_was_used_in_its_branch(world: World) -> None:
    now = dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
    whose = {"owner_id": world.users["tenant"].pk, "sub_cluster_id": world.west.pk}
    amounts = {"containers": 1, "memory_mib_s": 1, "vcores_milli_s": 1, "gpu_s": 0}
    places = ["root.prod", "root.prod.etl", "root.prod-x", "root.prod_a.b"]
    for place in places:
        UsageHour.objects.create(hour=now, queue=place, **whose, **amounts)
        UsageTag.objects.create(day=now.date(), queue=place, tag="x", **whose, **amounts)
    for what in ("hours", "hours?step=day", "hours?tag=x", "tags"):
        address = f"usage/{what}{'&' if '?' in what else '?'}queue="
        assert found(world, "tenant", f"{address}root.prod", "queue") == places[:2]
        assert found(world, "tenant", f"{address}root.prod_a", "queue") == places[3:]
        assert found(world, "tenant", f"{address}root", "queue") == sorted(places)
        assert found(world, "tenant", address, "queue") == sorted(places)
    assert found(world, "operator", "usage/accounts?queue=root.prod", "containers") == [2]
    for file in ("hours", "tags"):
        lines = world["tenant"].get(f"usage/{file}.csv?queue=root.prod").content.decode().splitlines()
        assert sorted(line.split(",")[2] for line in lines[1:]) == places[:2]
