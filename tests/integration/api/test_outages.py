"""A web process whose stores die, hang or come back, and one with more requests than it can answer."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
import redis
from django.conf import settings
from django.db import connection

from controlplane.router.logfollowers import LOOK_EVERY_S
from controlplane.router.views.containers import FOLLOWS_MAX
from controlplane.statestore.models import Intent, Job
from tests.integration.api import rows
from tests.integration.api.away import kill_connections, no_connections
from tests.integration.api.served import web
from tests.integration.api.world import World, job
from tests.limits import limit
from tests.patience import stretched, wait_until
from wire.ids import format_container

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def stopped(processes: list[psutil.Process]) -> Iterator[None]:
    """The processes hold still (SIGSTOP) for as long as this lasts."""
    for p in processes:
        p.suspend()
    try:
        yield
    finally:
        for p in reversed(processes):
            p.resume()


def postgres() -> list[psutil.Process]:
    """Postgres' first process and its children."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        first = psutil.Process(cursor.fetchone()[0]).parent()
    assert first is not None
    return [first, *first.children()]


def valkey() -> psutil.Process:
    info = redis.Redis.from_url(settings.REDIS_URL).info("server")
    return psutil.Process(int(info["process_id"]))


def client(url: str, world: World, who: str = "tenant") -> httpx.Client:
    return httpx.Client(base_url=f"{url}/api/v1/", headers={"Authorization": f"Token {world[who].token}"}, timeout=30)


@pytest.mark.faults
def test_a_hanging_postgres_is_answered_with_503_within_two_seconds_and_forgotten_at_once(world: World) -> None:
    with web() as url, client(url, world) as api:
        assert api.post("jobs", json=job()).status_code == 201
        with stopped(postgres()):
            for _ in range(3):
                with limit("Postgres hangs: a submit is answered with 503", 2):
                    answer = api.post("jobs", json=job(), headers={"Idempotency-Key": "while-it-hung"})
                assert answer.status_code == 503
                assert answer.headers["Retry-After"] == "2"
                assert answer.headers["Content-Type"] == "application/problem+json"
        known = {"Idempotency-Key": "while-it-hung"}
        with limit("Postgres hung: a submit is accepted after its return", 10):
            answer = wait_until(lambda: _created(api.post("jobs", json=job(), headers=known)), 10, "a submit")
        assert Job.objects.filter(pk=answer["id"]).exists()
        assert Job.objects.count() == 2  # the three that were refused and the repeat are one job


def _created(answer: httpx.Response) -> dict | None:
    return answer.json() if answer.status_code == 201 else None


def test_killed_connections_to_postgres_cost_at_most_one_answer(world: World) -> None:
    with web() as url, client(url, world) as api:
        assert api.post("jobs", json=job()).status_code == 201
        kill_connections()
        assert wait_until(lambda: _created(api.post("jobs", json=job())), 5, "a submit")


@pytest.mark.faults
def test_a_hanging_redis_delays_no_submit_and_loses_none(world: World) -> None:
    with web() as url, client(url, world) as api:
        assert api.post("jobs", json=job()).status_code == 201
        with stopped([valkey()]):
            for _ in range(10):
                with limit("Redis hangs: a submit is accepted", 1):
                    assert api.post("jobs", json=job()).status_code == 201
            health = api.get("healthz")
            assert health.status_code == 200 and health.json()["status"] == "degraded"
        assert Job.objects.count() == Intent.objects.filter(kind="submit").count() == 11
        wait_until(lambda: api.get("healthz").json()["status"] == "ok", 5, "Redis is used again")


def test_followed_logs_hold_no_thread_and_no_connection_and_end_with_the_news(world: World) -> None:
    made = world["tenant"].post("jobs", job()).json()["id"]
    live = rows.container(Job.objects.get(pk=made), world.nodes[0].session.node_id)
    cid = format_container(live.pk)
    with web() as url, client(url, world) as api:
        found: list[httpx.Response] = []

        def follow() -> None:
            with client(url, world) as mine:
                answer = mine.get(f"containers/{cid}/logs?follow=1")
                while answer.status_code == 503:  # its thread could not connect soon enough: a client asks again
                    answer = mine.get(f"containers/{cid}/logs?follow=1")
                found.append(answer)

        watchers = [threading.Thread(target=follow) for _ in range(FOLLOWS_MAX + 2)]
        for watcher in watchers:
            watcher.start()
        wait_until(lambda: len(found) == 2, 5, "those that an account may not follow besides are refused")
        assert [answer.status_code for answer in found] == [429] * 2, [answer.text for answer in found]
        assert found[0].headers["Retry-After"]
        found.clear()
        wait_until(lambda: _clients_of(urlsplit(url).port) >= FOLLOWS_MAX, 5, "all others are connected")
        assert api.get("jobs").status_code == 200
        assert len(_connections()) < 12
        piece = {"container": cid, "stream": "stdout", "offset": 0, "data": "aGVsbG8="}
        assert world.nodes[0]("POST", "logs", {"chunks": [piece]}).status_code == 204
        for watcher in watchers:
            watcher.join(stretched(10))
        assert [r.json()["data"] for r in found] == ["hello"] * FOLLOWS_MAX


def test_whoever_follows_a_log_goes_on_when_the_statestore_comes_back(world: World) -> None:
    made = world["tenant"].post("jobs", job()).json()["id"]
    live = rows.container(Job.objects.get(pk=made), world.nodes[0].session.node_id)
    cid = format_container(live.pk)
    with web() as url, client(url, world) as api, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(api.get, f"containers/{cid}/logs?follow=1")
        wait_until(lambda: _connections(last="%unnest(%statestore_container%"), 5, "a look for news")
        with no_connections():
            assert api.get("jobs").status_code == 503
            assert not wait([asked], timeout=4 * LOOK_EVERY_S).done, "looks that fail are repeated"
        piece = {"container": cid, "stream": "stdout", "offset": 0, "data": "aGVsbG8="}
        assert world.nodes[0]("POST", "logs", {"chunks": [piece]}).status_code == 204
        assert asked.result(30).json()["data"] == "hello"


def _clients_of(port: int | None) -> int:
    found = psutil.net_connections("tcp4")
    return sum(c.status == psutil.CONN_ESTABLISHED and bool(c.laddr) and c.laddr.port == port for c in found)


def _connections(last: str = "%") -> list[int]:
    """Those whose last query is like this."""
    mine = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE %s"
    with connection.cursor() as cursor:
        cursor.execute(f"{mine} AND pid <> pg_backend_pid()", [last])
        return [row[0] for row in cursor.fetchall()]


def test_bodies_are_bounded_and_artifacts_stream(world: World) -> None:
    with web(HYDRA_ARTIFACT_MAX_MIB="2") as url, client(url, world) as api:
        large = b"x" * (3 << 20)
        answer = api.put("artifacts/" + "0" * 64, content=large, headers={"Content-Type": "application/octet-stream"})
        assert answer.status_code == 413
        answer = api.post("jobs", content=b" " * (33 << 20), headers={"Content-Type": "application/json"})
        assert answer.status_code == 413 and answer.json()["title"]
        import hashlib

        data = os.urandom(1_500_000)
        address = f"artifacts/{hashlib.sha256(data).hexdigest()}"
        assert api.put(address, content=data).status_code == 201
        assert api.put(address, content=data).status_code == 200
        assert api.get(address).content == data
        part = api.get(address, headers={"Range": "bytes=1000000-"})
        assert part.status_code == 206 and part.content == data[1_000_000:]
        assert api.head(address).headers["Content-Length"] == str(len(data))
        assert api.get(address, headers={"Range": "bytes=9999999-"}).status_code == 416
        assert api.put(address, content=b"other").status_code == 422


def test_too_fast_an_account_is_told_to_wait_and_others_are_not(world: World) -> None:
    with web(HYDRA_RATE_USER="20/hour") as url, client(url, world) as api, client(url, world, "other") as other:
        answers = [api.get("me") for _ in range(60)]
        refused = [a for a in answers if a.status_code == 429]
        assert refused and int(refused[0].headers["Retry-After"]) >= 1
        assert refused[0].headers["Content-Type"] == "application/problem+json"
        assert other.get("me").status_code == 200


def test_the_web_process_ends_at_sigterm() -> None:
    with web() as url:
        assert httpx.get(f"{url}/healthz").status_code == 200
        taken = [c for c in psutil.net_connections("tcp4") if c.laddr.port == urlsplit(url).port]
        server = psutil.Process(next(c.pid for c in taken if c.status == psutil.CONN_LISTEN))
        server.send_signal(signal.SIGTERM)
        server.wait(stretched(5))
