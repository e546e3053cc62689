"""Commands in containers as rows: who may begin how many, and whose sockets find them."""

import asyncio
import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.utils import timezone
from knox.models import AuthToken

from controlplane.accounts.models import QueueAccess
from controlplane.router.execs import person
from controlplane.router.execs.socket import FrameSocket
from controlplane.router.proxy.access import by_token
from controlplane.statestore.actions import execs
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.models import AuditEntry, Container, Exec, Job
from controlplane.statestore.queries.jobs import execs as queries
from tests.integration.api import rows
from tests.integration.api.world import World, job
from tests.patience import stretched
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


def test_what_its_person_has_left_counts_until_its_node_has_ended_it(
    world: World, live: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.HYDRA, "execs_user", 1)
    actor = Actor(world.users["tenant"].pk)
    for lingers, after in ((False, 201), (True, 429)):
        number = begin(world, live)[1]["id"]
        attached = execs.attach(world.users["tenant"].pk, number)
        assert attached is not None
        execs.end(actor, attached, "the person has left", lingers)
        execs.end(actor, attached, "again")
        assert execs.join(live.node_id, number) is None, "nobody waits for it any more"
        assert begin(world, live)[0] == after
        Exec.objects.filter(ended_at=None).delete()
    Exec.objects.update(ended_at=timezone.now() - dt.timedelta(seconds=1))
    assert begin(world, live)[0] == 201
    assert AuditEntry.objects.filter(action="exec.end").count() == 2


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


def test_whose_right_has_gone_since_he_asked_does_not_get_in(world: World) -> None:
    row = Job.objects.get(pk=world["submitter"].post("jobs", job(queue="root.prod.web")).json()["id"])
    live = rows.container(row, world.nodes[0].session.node_id)
    kept, gone = (begin(world, live, "admin")[1]["id"] for _ in range(2))
    who = partial(by_token, f"Token {world['admin'].token}")
    assert person.attach(who, kept) is not None
    QueueAccess.objects.filter(user=world.users["admin"]).delete()
    assert person.attach(who, gone) is None
    Job.objects.filter(pk=row.pk).update(owner=world.users["admin"])
    assert "not run commands" not in queries.why_not(Exec.objects.get(pk=kept)), "it is by what holds now"


def test_nobody_but_the_owner_looks_into_what_has_secrets(world: World) -> None:
    """A command has the environment and the files of the task beside which it runs."""
    spec = job(queue="root.prod.web")
    assert world["submitter"]("PUT", "me/secrets/db", {"value": "x"}).status_code == 201
    with_secret = spec["groups"][0] | {"name": "with", "secrets": [{"name": "db", "env": "PASSWORD"}]}
    spec["groups"].append(with_secret)
    row = Job.objects.get(pk=world["submitter"].post("jobs", spec).json()["id"])
    without, having = (rows.container(row, world.nodes[0].session.node_id, group=no) for no in range(2))
    for who, refused in (("submitter", 201), ("admin", 403), ("operator", 403)):
        assert begin(world, without, who)[0] == 201
        status, answer = begin(world, having, who)
        assert status == refused and (status == 201 or "only the owner" in answer["detail"])


def test_nobody_but_the_owner_looks_into_a_master(world: World) -> None:
    """Its token has whatever it may ask for started in the owner's name."""
    spec = {"name": "app", "kind": "application", "queue": "root.prod.web", "master": {"command": ["am"]}}
    row = Job.objects.get(pk=world["submitter"].post("jobs", spec).json()["id"])
    master = rows.container(row, world.nodes[0].session.node_id)
    for who, status in (("submitter", 201), ("admin", 403), ("operator", 403)):
        assert begin(world, master, who)[0] == status


class Here:
    """Looks into the StateStore from where the test is: in its transaction."""

    async def start(self, call: Callable[..., Any], *args: Any) -> Any:
        return await sync_to_async(call)(*args)


@pytest.mark.parametrize("ends", ["idle", "right", "moved", "token"])
def test_what_runs_ends_with_the_right_the_token_and_the_silence(
    world: World, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    monkeypatch.setattr(person, "LOOK_S", 0.01)
    row = Job.objects.get(pk=world["submitter"].post("jobs", job(queue="root.prod.web")).json()["id"])
    live = rows.container(row, world.nodes[0].session.node_id)
    who, said = partial(by_token, f"Token {world['admin'].token}"), list[bytes]()
    begun = person.attach(who, begin(world, live, "admin")[1]["id"])
    assert begun is not None

    async def send(message: Any) -> None:
        said.append(message["bytes"])

    async def looks() -> str:
        end = person.Person(FrameSocket(None, send), begun, who, "", Here())  # type: ignore[arg-type]
        if ends == "idle":
            end.active_at -= 2 * settings.HYDRA["exec_idle_s"]
        async with asyncio.timeout(stretched(30)):
            return await end._looks()

    if ends == "right":
        QueueAccess.objects.filter(user=world.users["admin"]).delete()
    elif ends == "moved":
        Job.objects.filter(pk=row.pk).update(queue="root.default")
    elif ends == "token":
        AuthToken.objects.filter(user=world.users["admin"]).delete()
    why = {"idle": "nothing was said", "token": "signed out"}.get(ends, "may not run commands")
    assert why in async_to_sync(looks)() and why in said[0].decode()
