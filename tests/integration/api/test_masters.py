"""Application masters over HTTP: whose token opens what and until when, what is refused, how events arrive."""

import asyncio
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import redis
from django.conf import settings as django_settings
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from rest_framework.throttling import SimpleRateThrottle

from controlplane.accounts.models import User
from controlplane.statestore.models import (
    AuditEntry,
    Intent,
    Job,
    Master,
    MasterAsk,
    MasterEvent,
    MasterLaunch,
    TaskGroup,
    TaskOutput,
)
from tests.integration.api import rows
from tests.integration.api.away import no_connections
from tests.integration.api.served import web
from tests.integration.api.world import NodeApi, World, job, plain_client
from tests.limits import limit
from tests.machine import FACTOR
from tests.patience import passes, stretched, wait_until
from wire import keys
from wire.ids import format_container
from wire.states import ContainerState, JobState, TaskState

APPLICATION: dict[str, Any] = {"name": "app", "kind": "application", "master": {"command": ["am"]}}
WORK = {"id": "work", "target": 2, "command": ["work"]}
SLOT = {"id": "slot", "target": 2}


@dataclass
class App:
    """An application whose master runs on the first node, and requests with its token."""

    job: Job
    node: NodeApi
    container: Any
    token: str = ""
    http: Client = field(default_factory=plain_client)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        text = "" if body is None else json.dumps(body)
        headers = {"authorization": f"Bearer {self.token}"}
        return self.http.generic(method, f"/api/v1/am/{path}", text, "application/json", headers=headers)

    def post(self, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
        answer = self("POST", path, body or {})
        assert answer.status_code == status, answer.content
        return answer.json()  # type: ignore[no-any-return]

    def granted(self, group: int = 1, **fields: Any) -> Any:
        """A container of its first ask, as the RM would grant it."""
        values = {"state": ContainerState.ALLOCATED, "started_at": None} | fields
        return rows.container(self.job, self.node.session.node_id, group=group, **values)


def application(world: World, role: str = "tenant", attempt: int = 1, **master: Any) -> App:
    cache.clear()
    spec = APPLICATION | {"master": APPLICATION["master"] | master}
    row = Job.objects.get(pk=world[role].post("jobs", spec).json()["id"])
    Job.objects.filter(pk=row.pk).update(state=JobState.RUNNING)
    node = next(n for n in world.nodes if n.session.sub_cluster_id == row.home_id)
    return started(App(row, node, None), attempt)


def started(app: App, attempt: int) -> App:
    """Another attempt of its master, with the token its node fetches."""
    app.container = rows.container(app.job, app.node.session.node_id, attempt=attempt)
    answer = app.node("GET", f"containers/{format_container(app.container.pk)}/token")
    assert answer.status_code == 200
    app.token = answer.json()["token"]
    return app


def event(app: App, seq: int, kind: str = "granted") -> None:
    body = {"container": "c-1-1-1", "ask": "work", "index": seq}
    MasterEvent.objects.create(job_id=app.job.pk, seq=seq, at=timezone.now(), kind=kind, body=body)


def test_an_application_is_stored_with_its_master_as_its_only_group(world: World) -> None:
    answer = world["tenant"].post("jobs", APPLICATION | {"files": []})
    assert answer.status_code == 201
    shown = world["tenant"].get(f"jobs/{answer.json()['id']}").json()
    assert shown["kind"] == "application" and [g["name"] for g in shown["groups"]] == ["master"]
    for wrong in (
        {"name": "a", "kind": "application"},
        APPLICATION | {"groups": job()["groups"]},
        job(master={"command": ["am"]}),
        {"name": "a"},
    ):
        refused = world["tenant"].post("jobs", wrong)
        assert refused.status_code == 422 and refused.json()["errors"][0]["field"] in {"master", "groups"}


def test_groups_that_a_master_asked_for_are_shown(world: World) -> None:
    app = application(world)
    app.post("allocate", {"asks": [WORK]})
    spec = MasterAsk.objects.get().spec
    TaskGroup.objects.create(job=app.job, no=1, name="work", count=2, memory_mib=256, vcores_milli=1000)
    live = app.granted()
    shown = world["tenant"].get(f"jobs/{app.job.pk}").json()
    assert [(g["name"], g["count"], g["after"]) for g in shown["groups"]] == [("master", 1, []), ("work", 2, [])]
    tasks = world["tenant"].get(f"jobs/{app.job.pk}/tasks").json()["results"]
    assert [t["group"] for t in tasks] == ["master", "work", "work"]
    assert spec["command"] == ["work"] and not spec["held"]
    assert app.node("GET", f"containers/{format_container(live.pk)}/inputs").json() == {"inputs": []}
    drain = world["operator"].get(f"nodes/{app.node.session.node_id}/drain")
    assert drain.status_code == 200 and {b["group"] for b in drain.json()["batch"]} == {"master", "work"}


def test_a_failed_application_can_be_retried(world: World) -> None:
    app = application(world)
    Job.objects.filter(pk=app.job.pk).update(state=JobState.FAILED)
    answer = world["tenant"].post(f"jobs/{app.job.pk}/retry", {})
    assert answer.status_code == 201
    assert Job.objects.get(pk=answer.json()["id"]).spec == app.job.spec


def test_the_session_from_register_to_finish(world: World) -> None:
    app = application(world)
    told = app.post("register")
    assert (told["job"], told["attempt"], told["user"], told["cursor"]) == (app.job.pk, 1, "tenant", 0)
    assert told["limits"]["asks"] == 200 and told["containers"] == [] == told["asks"]
    app.post("allocate", {"asks": [WORK, SLOT]})
    intent = Intent.objects.get(kind="master")
    assert (intent.sub_cluster_id, intent.payload) == (app.job.home_id, {"asks": [1, 2]})
    app.post("allocate", {"asks": [WORK, SLOT]})
    assert Intent.objects.filter(kind="master").count() == 1, "the same again is no news"
    slot, work = app.granted(group=2), app.granted(group=1)
    named = format_container(slot.pk)
    app.post("launch", {"launches": [{"container": named, "command": ["x"], "env": {"A": "b"}}]})
    app.post("launch", {"launches": [{"container": named, "command": ["x"], "env": {"A": "b"}}]})
    assert MasterLaunch.objects.get().spec["env"] == {"A": "b"}
    again = app.post("register")
    assert {(c["container"], c["ask"], c["launched"]) for c in again["containers"]} == {
        (named, "slot", True), (format_container(work.pk), "work", True)
    }  # fmt: skip
    app.post("finish", {"status": "SUCCEEDED", "message": "done"})
    row = Master.objects.get()
    assert (row.verdict, row.message, row.attempt) == (JobState.SUCCEEDED, "done", 1)
    app.post("allocate", {"asks": [WORK]}, status=409)
    app.post("finish", {"status": "FAILED"}, status=409)


def test_what_is_wrong_is_named(world: World) -> None:
    app = application(world)
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("allocate", {"asks": [{"id": "work"}]}, "asks.0.target"),
        ("allocate", {"asks": [WORK | {"target": -1}]}, "asks.0.target"),
        ("allocate", {"asks": [WORK | {"id": "Bad Name"}]}, "asks.0.id"),
        ("allocate", {"asks": [WORK | {"count": 1}]}, "asks.0.count"),
        ("allocate", {"asks": [WORK, SLOT | {"env": {"HYDRA_X": "1"}}]}, "asks.1.env.HYDRA_X"),
        ("allocate", {"asks": [WORK | {"files": [{"path": "a", "digest": "a" * 64}]}]}, "asks.0.files.0.digest"),
        ("allocate", {"asks": [WORK | {"id": "master"}]}, "asks.0.id"),
        ("allocate", {"release": ["x"]}, "release.0"),
        ("allocate", {"after": -1}, "after"),
        ("launch", {"launches": []}, "launches"),
        (
            "launch",
            {"launches": [{"container": "c-1-1-1", "command": ["a", "b"], "shell": True}]},
            "launches.0.command",
        ),
        ("finish", {"status": "KILLED"}, "status"),
    ]
    for path, body, field_name in wrong:
        problem = app.post(path, body, status=422)
        assert problem["errors"][0]["field"] == field_name, (path, body, problem)
    assert not MasterAsk.objects.exists() and not Intent.objects.filter(kind="master").exists()


def test_a_gang_is_said_with_the_ask_and_stays(world: World) -> None:
    app = application(world)
    app.post("allocate", {"asks": [WORK | {"gang": True}]})
    assert MasterAsk.objects.get().spec["gang"] is True
    app.post("allocate", {"asks": [{"id": "work", "target": 4}]})
    assert (MasterAsk.objects.get().target, MasterAsk.objects.get().spec["gang"]) == (4, True)
    problem = app.post("allocate", {"asks": [WORK]}, status=409)
    assert "another gang" in problem["detail"]
    wrong = app.post("allocate", {"asks": [SLOT | {"gang": 2}]}, status=422)
    assert wrong["errors"][0]["field"] == "asks.0.gang"


def test_quotas(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"master_max_asks": 3, "master_max_containers": 10}
    app = application(world)
    many = app("POST", "allocate", {"asks": [WORK | {"target": 11}]})
    assert many.status_code == 429 and many["Retry-After"] == "1"
    for i in range(3):
        app.post("allocate", {"asks": [SLOT | {"id": f"s{i}"}]})
    app.post("allocate", {"asks": [SLOT | {"id": "s3"}]}, status=422)
    app.post("allocate", {"asks": [SLOT | {"id": f"s{i}"} for i in range(1001)]}, status=422)
    assert MasterAsk.objects.count() == 3


def test_what_asks_and_launches_say_is_bounded(world: World, settings: Any) -> None:
    """A launch comes to what it says and what its ask says; containers that have ended do not count."""
    settings.HYDRA = settings.HYDRA | {"job_max_kib": 8, "master_launches_max_mib": 16 / 1024}
    app = application(world)
    fat = SLOT | {"id": "fat", "env": {"A": "x" * 5000}}
    app.post("allocate", {"asks": [fat]})
    refused = app("POST", "allocate", {"asks": [SLOT | {"id": "more", "env": {"A": "x" * 5000}}]})
    assert refused.status_code == 422 and refused.json()["errors"][0]["field"] == "asks"
    assert MasterAsk.objects.count() == 1

    def launch(status: int) -> tuple[Any, Any]:
        granted = app.granted()
        said = {"container": format_container(granted.pk), "command": ["x"], "env": {"B": "y" * 2000}}
        return granted, app.post("launch", {"launches": [said]}, status=status)

    first, _ = launch(200)
    launch(200)
    third, problem = launch(429)
    assert problem["errors"][0]["field"] == "launches" and "MiB" in problem["errors"][0]["message"]
    assert not MasterLaunch.objects.filter(pk=third.pk).exists()
    for _ in range(4):
        first.delete()
        first, _ = launch(200)
    assert sum(MasterLaunch.objects.values_list("spec_bytes", flat=True)) <= 16 * 1024, "ended ones take no room"


def test_what_was_granted_has_the_files_of_its_launch_and_no_others_launch(world: World) -> None:
    app, data = application(world), [b"one", b"two"]
    digests = [hashlib.sha256(each).hexdigest() for each in data]
    for digest, each in zip(digests, data, strict=True):
        assert world["tenant"].put(f"artifacts/{digest}", each).status_code == 201
    app.post("allocate", {"asks": [SLOT]})
    granted = [format_container(app.granted(index=i).pk) for i in range(2)]

    def may(container: str) -> list[bool]:
        asked = [app.node("GET", f"artifacts/{digest}?container={container}") for digest in digests]
        return [answer.status_code == 200 for answer in asked]

    assert [may(container) for container in granted] == [[False, False]] * 2
    for container, digest in zip(granted, digests, strict=True):
        said = {"container": container, "command": ["x"], "files": [{"path": "f", "digest": digest}]}
        app.post("launch", {"launches": [said]})
    for _ in range(2):
        assert [may(container) for container in granted] == [[True, False], [False, True]]


def test_a_greedy_master_is_slowed_down_and_others_are_not(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, "master", "40/min")
    app, other = application(world), application(world, "other")
    assert [app("POST", "allocate", {}).status_code for _ in range(40)] == [200] * 40
    refused = app("POST", "allocate", {})
    assert refused.status_code == 429 and int(refused["Retry-After"]) >= 1
    other.post("allocate", {})


# Promise 23


def test_a_token_opens_only_its_own_job(world: World) -> None:
    app, other = application(world), application(world, "other")
    app.post("allocate", {"asks": [SLOT]})
    other.post("allocate", {"asks": [SLOT]})
    theirs = format_container(other.granted().pk)
    app.post("launch", {"launches": [{"container": theirs, "command": ["x"]}]}, status=409)
    app.post("allocate", {"release": [theirs]})
    assert not Intent.objects.filter(kind="containers").exists(), "nobody is told of another job's container"
    TaskOutput.objects.create(
        job=other.job, group_no=1, task_index=0, container_id=1, name="o", path="o", digest="0" * 64, size=1
    )
    assert app("GET", "containers/c-1-1-1/outputs/o").status_code == 404
    assert world["tenant"].get("jobs", authorization=f"Bearer {app.token}").status_code == 401
    assert world["tenant"].get("jobs", authorization=f"Token {app.token}").status_code == 401


@pytest.mark.django_db(transaction=True)
def test_a_token_dies_with_its_attempt_and_its_job(world: World) -> None:
    app = application(world)
    app.post("register")
    first = app.token
    second = started(app, 2).token
    for token, verdict in ((first, 403), (second, 200)):
        app.token = token
        assert app("POST", "register", {}).status_code == verdict
    rows.end(app.container)
    assert app("POST", "allocate", {"asks": [WORK]}).status_code == 403
    assert app("GET", "events").status_code == 403
    third = started(app, 3)
    Job.objects.filter(pk=app.job.pk).update(state=JobState.KILLED)
    assert third("POST", "finish", {"status": "SUCCEEDED"}).status_code == 403
    assert not MasterAsk.objects.exists() and not Master.objects.filter(verdict__isnull=False).exists()


@pytest.mark.parametrize("change", [{"is_active": False}, {"role": "viewer"}])
def test_a_master_whose_owner_may_submit_nothing_more_starts_nothing_more(world: World, change: dict[str, Any]) -> None:
    app = application(world)
    app.post("allocate", {"asks": [WORK, SLOT]})
    granted = format_container(app.granted(group=2).pk)
    User.objects.filter(pk=app.job.owner_id).update(**change)
    refused = app.post("allocate", {"asks": [WORK | {"target": 3}]}, status=403)
    assert "may submit nothing any more" in refused["detail"]
    app.post("allocate", {"asks": [WORK | {"id": "new"}]}, status=403)
    app.post("launch", {"launches": [{"container": granted, "command": ["x"]}]}, status=403)
    assert list(MasterAsk.objects.order_by("no").values_list("target", flat=True)) == [2, 2]
    heard = app.post("allocate", {"asks": [WORK, SLOT | {"target": 1}], "release": [granted]})
    assert "events" in heard
    app.post("finish", {"status": "SUCCEEDED"})


def test_forged_tokens(world: World) -> None:
    app, other = application(world), application(world, "other")
    good = app.token
    _, container, mac = good.split(".")
    stranger = other.token.split(".")[1]
    last = "0" if mac[-1] != "0" else "1"
    for token in (
        "", "am", "am..", f"am.{container}.", f"am.{container}.{mac[:-1]}{last}", f"am.{stranger}.{mac}",
        f"xx.{container}.{mac}", good + ".", good.upper(), "\xff", "a" * 5000,
    ):  # fmt: skip
        app.token = token
        assert app("POST", "register", {}).status_code == 401, token[:40]
    # A genuine token of a container that is no master's is made for nobody.
    batch = Job.objects.get(pk=world["tenant"].post("jobs", job()).json()["id"])
    plain = rows.container(batch, app.node.session.node_id)
    worker = rows.container(app.job, app.node.session.node_id, group=1)
    for one in (plain, worker):
        assert app.node("GET", f"containers/{format_container(one.pk)}/token").status_code == 403
    assert AuditEntry.objects.filter(action="node.refused").count() == 2


def test_what_a_container_left_behind(world: World) -> None:
    app = application(world)
    app.post("allocate", {"asks": [WORK | {"outputs": [{"name": "part", "path": "p"}]}]})
    live, data = app.granted(state=ContainerState.RUNNING), b"what it found"
    name, digest = format_container(live.pk), hashlib.sha256(data).hexdigest()
    assert app.node("PUT", f"containers/{name}/outputs/part?path=p&sha256={digest}", data).status_code == 201
    rows.end(live, TaskState.SUCCEEDED)
    answer = app("GET", f"containers/{name}/outputs/part")
    assert answer.status_code == 200 and b"".join(answer.streaming_content) == data
    assert app("GET", f"containers/{name}/outputs/other").status_code == 404
    assert app("GET", "containers/nonsense/outputs/part").status_code == 404


# How events arrive


@pytest.mark.django_db(transaction=True)
def test_events_are_read_from_a_cursor(world: World) -> None:
    app = application(world)
    for seq in (1, 2, 3):
        event(app, seq)
    page = app("GET", "events?after=1").json()
    assert [e["seq"] for e in page["events"]] == [2, 3] and (page["cursor"], page["missed"]) == (3, False)
    MasterEvent.objects.filter(seq=1).delete()
    assert app("GET", "events").json()["missed"]
    assert app.post("allocate", {"after": 2})["cursor"] == 3
    assert app.post("allocate")["events"] == []
    assert app("GET", "events?wait_s=61").status_code == 422


@pytest.mark.django_db(transaction=True)
def test_many_wait_without_threads_and_hear_within_milliseconds(world: World) -> None:
    """Long polls and a stream on one process: what is committed and hinted arrives at once, to its own."""
    app, other = application(world), application(world, "other")
    with web() as url:
        asyncio.run(_waiting(url, app, other))


async def _waiting(url: str, app: App, other: App) -> None:
    hints = redis.Redis.from_url(django_settings.REDIS_URL)
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"{url}/api/v1/am/", timeout=30, limits=limits) as http:

        async def poll(of: App) -> Any:
            answer = await http.get("events?wait_s=20", headers={"Authorization": f"Bearer {of.token}"})
            assert answer.status_code == 200, answer.text
            return answer.json()["events"]

        polls = [asyncio.create_task(poll(app)) for _ in range(10)]
        others = [asyncio.create_task(poll(other)) for _ in range(10)]
        lines: list[Any] = []
        stream = asyncio.create_task(_stream(http, app, lines, 2))
        await asyncio.to_thread(wait_until, lambda: hints.pubsub_numsub(keys.masters())[0][1], 10)
        await passes(1.0 * FACTOR)  # all of them have read and found nothing
        assert not _ended(*polls, *others)
        hints.publish(keys.masters(), str(other.job.pk))  # late, or twice: there is nothing
        await asyncio.to_thread(_in_thread, lambda: event(app, 1))
        hints.publish(keys.masters(), str(app.job.pk))
        heard = await asyncio.gather(*polls)
        assert all(len(events) == 1 for events in heard)
        assert not _ended(*others)
        await asyncio.to_thread(_in_thread, lambda: (event(app, 2), event(other, 1)))  # and nobody says so
        assert all(len(events) == 1 for events in await asyncio.gather(*others))
        async with asyncio.timeout(stretched(10)):
            await stream
        assert [e["seq"] for e in lines] == [1, 2]


def _ended(*polls: "asyncio.Task[Any]") -> list[Any]:
    """What those have come to that are over."""
    return [p.exception() or p.result() for p in polls if p.done()]


def _in_thread(call: Any) -> None:
    from django.db import connection

    try:
        call()
    finally:
        connection.close()


async def _stream(http: httpx.AsyncClient, app: App, lines: list[Any], count: int) -> None:
    headers = {"Authorization": f"Bearer {app.token}"}
    async with http.stream("GET", "events?stream=ndjson", headers=headers) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        async for line in answer.aiter_lines():
            if line:
                lines.append(json.loads(line))
            if len(lines) == count:
                return


@pytest.mark.faults
@pytest.mark.django_db(transaction=True)
def test_polls_do_not_wait_for_one_another(world: World) -> None:
    app = application(world)

    async def all_of_them(url: str) -> list[httpx.Response]:
        headers = {"Authorization": f"Bearer {app.token}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as http:
            return await asyncio.gather(*(http.get("/api/v1/am/events?wait_s=4") for _ in range(12)))

    with web() as url:
        with limit("twelve long polls of 4 s at once", 20):
            answers = asyncio.run(all_of_them(url))
        assert [a.json()["events"] for a in answers] == [[]] * 12


@pytest.mark.django_db(transaction=True)
def test_a_stream_ends_with_its_master(world: World) -> None:
    app = application(world)
    with _followed(app) as (seen, further):
        assert "id: 1" in seen and "event: granted" in seen
        threading.Thread(target=_in_thread, args=(lambda: rows.end(app.container),)).start()
        for _ in further:  # until it ends
            pass


@pytest.mark.django_db(transaction=True)
def test_a_stream_ends_in_order_when_the_statestore_is_away(world: World) -> None:
    app = application(world)
    with _followed(app) as (_, further), no_connections():
        redis.Redis.from_url(django_settings.REDIS_URL).publish(keys.masters(), str(app.job.pk))
        assert [line for line in further if line] == [], "and the application follows once more"


@contextmanager
def _followed(app: App) -> Iterator[tuple[list[str], Iterator[str]]]:
    """The lines of a stream's first event, and those that come after it."""
    event(app, 1)
    headers = {"Authorization": f"Bearer {app.token}"}
    with web() as url, httpx.stream("GET", f"{url}/api/v1/am/events?stream=sse", headers=headers, timeout=15) as answer:
        pieces = answer.iter_lines()
        seen: list[str] = []
        while not (seen and seen[-1].startswith("data:")):
            seen.append(next(pieces))
        yield seen, pieces
