"""Whatever a node or an application master sends: it is answered, never with a fault, and in words where it is refused.

REST for people is fuzzed by its schema (``test_schema``); these two have none of their own or need a token that ends.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from django.core.cache import cache, caches
from django.test import Client

from controlplane.statestore.actions import nodes
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import Job, MasterAsk
from tests import mutations
from tests.integration.api import rows
from tests.integration.api.test_masters import App, application
from tests.integration.api.world import World, job
from tests.seeds import drawn
from wire.ids import format_container

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 25  # each request
DATA = b"what it has left"
DIGEST = hashlib.sha256(DATA).hexdigest()


@dataclass(frozen=True)
class Request:
    """One that is sound. Its query's values and its path's last parts may be changed as well as its body."""

    method: str
    path: str
    body: Any = None
    query: tuple[tuple[str, str], ...] = ()


def changed(rng: Random, sound: Request) -> tuple[str, str, bytes]:
    """Method, address and body."""
    method = rng.choice(("GET", "POST", "PUT", "DELETE")) if rng.random() < 0.05 else sound.method
    head, *parts = sound.path.split("/")
    query = [list(pair) for pair in sound.query]
    body = sound.body if isinstance(sound.body, bytes) else json.dumps(sound.body).encode()
    what = rng.choice(["body", "body", "body", "path", "query", "bytes"])
    if what == "path" and parts:
        parts[rng.randrange(len(parts))] = mutations.text(rng, rng.choice(parts))
    elif what == "query" and query:
        rng.choice(query)[1] = rng.choice((mutations.text(rng, query[0][1]), str(rng.choice(mutations.NASTY))[:300]))
    elif what == "bytes" or isinstance(sound.body, bytes):
        body = mutations.data(rng, body)
    else:
        body = json.dumps(mutations.value(rng, sound.body, rng.randint(1, 2))).encode()
    address = "/".join([head, *(quote(part, safe="") for part in parts)])
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in query)
    return method, f"{address}?{asked}" if asked else address, body


def send(http: Client, method: str, address: str, body: bytes, authorization: str) -> Any:
    for name in ("default", "throttles"):
        caches[name].clear()
    kind = "application/octet-stream" if "outputs" in address else "application/json"
    return http.generic(method, address, body, kind, headers={"authorization": authorization})


def faults(requests: list[Request], prefix: str, authorization: str, rng: Random, times: int) -> Iterator[Any]:
    """Each request, changed so many times, that was answered by a fault, or refused without words."""
    http = Client(raise_request_exception=False)
    for sound in requests:
        for _ in range(times):
            method, address, body = changed(rng, sound)
            answer = send(http, method, prefix + address, body, authorization)
            worded = answer.status_code in {200, 201, 202, 204, 404} or "json" in answer["Content-Type"]
            if answer.status_code >= 500 or not worded:
                yield method, address[:200], body[:300], answer.status_code


@pytest.fixture
def rng() -> Random:
    return drawn(7)


@pytest.fixture
def times(soak: bool) -> int:
    return 40 * TIMES if soak else TIMES


def test_whatever_a_node_sends_is_answered(world: World, rng: Random, times: int) -> None:
    group = job()["groups"][0] | {"ports": [{"name": "http"}], "outputs": [{"name": "out", "path": "o"}]}
    row = Job.objects.get(pk=world["tenant"].post("jobs", job(groups=[group])).json()["id"])
    node, live = world.nodes[0], format_container(rows.container(row, world.nodes[0].session.node_id).pk)
    chunk = {"container": live, "stream": "stdout", "offset": 0, "data": base64.b64encode(DATA).decode()}
    sound = [
        Request("GET", "session"), Request("POST", "health", {"text": "ERROR disk"}),
        Request("POST", "logs", {"chunks": [chunk, chunk]}), Request("GET", f"containers/{live}/inputs"),
        Request("GET", f"containers/{live}/token"), Request("GET", f"artifacts/{DIGEST}", query=(("container", live),)),
        Request("PUT", f"containers/{live}/outputs/out", DATA, (("path", "o"), ("sha256", DIGEST))),
        Request("POST", f"containers/{live}/endpoints", {"endpoints": {"http": 20_000}, "healthy": True}),
    ]  # fmt: skip
    me = f"Node {node.session.node_id}:{node.session.credential}"
    assert not list(faults(sound, "/node/v1/", me, rng, times))
    assert node("GET", "session").status_code == 200
    assert node("POST", "logs", {"chunks": [chunk]}).status_code == 204


def test_whatever_says_that_it_is_a_node_is_answered(world: World, rng: Random, times: int) -> None:
    token = nodes.new_join_token(SYSTEM, world.west)[1]
    description = {
        "join_token": token, "name": "n-1", "rack": "r1", "memory_mib": 64, "vcores_milli": 1000, "gpus": 0,
        "labels": {"zone": "a"}, "enforces": ["memory"], "host": "10.0.0.9", "version": "1", "credential": "c" * 43,
    }  # fmt: skip
    assert not list(faults([Request("POST", "register", description)], "/node/v1/", "", rng, 4 * times))
    http = Client(raise_request_exception=False)
    for _ in range(times):
        said = mutations.text(rng, f"Node {world.nodes[0].session.node_id}:{world.nodes[0].session.credential}")
        answer = send(http, "GET", "/node/v1/session", b"", said.encode("latin1", "replace").decode("latin1"))
        assert answer.status_code in {200, 401}, said


def test_whatever_an_application_master_sends_is_answered(world: World, rng: Random, times: int) -> None:
    app: App = application(world, ports=[{"name": "http"}])
    ask = {
        "id": "work", "target": 2, "command": ["work"], "env": {"A": "b"}, "resources": {"memory_mib": 64},
        "gang": True, "locality": {"racks": ["r1"]}, "node_labels": "gpu", "outputs": [{"name": "o", "path": "o"}],
        "ports": [{"name": "http"}], "health_check": {"port": "http", "tcp": True}, "grace_s": 1.5,
    }  # fmt: skip
    app.post("allocate", {"asks": [ask]})
    slot = format_container(app.granted().pk)
    sound = [
        Request("POST", "register", {"tracking": {"port": "http", "path": "/a?b=1"}}),
        Request("POST", "allocate", {"asks": [ask, {"id": "slot", "target": 1}], "release": [slot], "after": 0}),
        Request("POST", "launch", {"launches": [{"container": slot, "command": ["x"], "env": {"A": "b"}, "tag": "t"}]}),
        Request("GET", "events", query=(("after", "0"),)),
        Request("GET", f"containers/{slot}/outputs/out"),
    ]  # fmt: skip
    me = f"Bearer {app.token}"
    assert not list(faults(sound, "/api/v1/am/", me, rng, times))
    cache.clear()
    assert app.post("register")["attempt"] == 1 and MasterAsk.objects.exists()
    finish = Request("POST", "finish", {"status": "FAILED", "message": "m"})
    assert not list(faults([finish], "/api/v1/am/", me, rng, times))
