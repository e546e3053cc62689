"""Commands in containers as rows: who may begin how many, and whose sockets find them."""

import datetime as dt

import pytest
from django.conf import settings
from django.utils import timezone

from controlplane.statestore.actions import execs
from controlplane.statestore.models import AuditEntry, Container, Exec, Job
from controlplane.statestore.queries.jobs import execs as queries
from tests.integration.api import rows
from tests.integration.api.world import World, job
from wire.ids import format_container


@pytest.fixture
def live(world: World) -> Container:
    row = Job.objects.get(pk=world["tenant"].post("jobs", job()).json()["id"])
    return rows.container(row, world.nodes[0].session.node_id)


def begin(world: World, live: Container, who: str = "tenant", **order: object) -> tuple[int, dict]:
    answer = world[who].post(f"containers/{format_container(live.pk)}/exec", {"command": ["ls"]} | order)
    return answer.status_code, answer.json()


def test_so_many_run_at_once_and_none_where_operators_forbid_them(
    world: World, live: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.HYDRA, "execs_user", 2)
    first, _ = (begin(world, live)[1]["id"] for _ in range(2))
    assert begin(world, live)[0] == 429 and begin(world, live, "operator")[0] == 201
    Exec.objects.filter(pk=first).update(seen_at=timezone.now() - dt.timedelta(minutes=1))
    assert begin(world, live)[0] == 201, "one that nobody looks after is over"
    monkeypatch.setitem(settings.HYDRA, "execs", 3)
    assert begin(world, live, "operator")[0] == 429
    monkeypatch.setitem(settings.HYDRA, "execs_user", 0)
    assert begin(world, live, "operator")[0] == 403
    told = AuditEntry.objects.filter(action="exec.begin").order_by("pk").values_list("target", "after__command").first()
    assert told == (f"container/{format_container(live.pk)}", ["ls"])
    rows.end(live)
    assert begin(world, live)[0] == 409
    for command in ([], [""], ["x" * 9000], ["a\0b"]):
        assert begin(world, live, command=command)[0] in (409, 422)


def test_each_socket_finds_an_exec_once_and_nobody_elses(world: World, live: Container) -> None:
    number = begin(world, live)[1]["id"]
    tenant, other = (world.users[name].pk for name in ("tenant", "other"))
    mine, foreign = (node.session.node_id for node in world.nodes[:2])
    assert world.nodes[0]("GET", "execs").json() == {"execs": []}, "its person has not come"
    assert execs.join(mine, number) is None and execs.attach(other, number) is None
    attached = execs.attach(tenant, number)
    assert attached is not None and execs.attach(tenant, number) is None
    assert [node("GET", "execs").json()["execs"] for node in world.nodes[:2]] == [[number], []]
    assert execs.join(foreign, number) is None
    assert execs.join(mine, number) is not None and execs.join(mine, number) is None
    assert world.nodes[0]("GET", "execs").json() == {"execs": []}
    assert queries.why_not(attached) == ""
    world.users["tenant"].is_active = False
    world.users["tenant"].save()
    assert "not run commands" in queries.why_not(attached)
    world.users["tenant"].is_active = True
    world.users["tenant"].save()
    rows.end(live)
    assert queries.why_not(attached) == "the container has ended"
    Exec.objects.update(seen_at=timezone.now() - dt.timedelta(days=2))
    assert execs.purge() == 1
