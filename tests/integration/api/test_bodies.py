"""Bodies that a web process takes in: no more than their address needs, of nobody unknown, and not for ever."""

import hashlib
import socket
from contextlib import ExitStack, closing, suppress
from urllib.parse import urlsplit

import httpx
import pytest

from controlplane.statestore.models import Artifact
from tests.integration.api.served import web
from tests.integration.api.test_outages import client
from tests.integration.api.world import World
from tests.patience import wait_until
from wire.nodeapi import AUTH_SCHEME

pytestmark = pytest.mark.django_db(transaction=True)
MIB = 1 << 20
ARTIFACT = "/api/v1/artifacts/" + "0" * 64


def raw(url: str, method: str, path: str, length: int, body: bytes, **headers: str) -> socket.socket:
    """A connection on which a request has begun, with that much of its body."""
    at = urlsplit(url)
    assert at.hostname and at.port
    found = socket.create_connection((at.hostname, at.port), timeout=20)
    lines = [f"{method} {path} HTTP/1.1", f"Host: {at.netloc}", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    found.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    return found


def status(connection: socket.socket) -> int:
    """Of the answer, which has to come although the body is not complete."""
    return int(connection.recv(4096).split(b" ")[1])


def test_an_address_takes_no_more_than_it_needs(world: World) -> None:
    little = [
        ("PUT", "nowhere"), ("PUT", "/nowhere"), ("PUT", "me"), ("GET", "jobs"), ("POST", "auth/login"),
        ("POST", "/node/v1/register"), ("GET", "containers/c-1-1-1/logs"), ("PUT", "containers/c-1-1-1/logs"),
        ("GET", "am/events"), ("POST", "am/events"),
    ]  # fmt: skip
    with web() as url, client(url, world) as api:
        for method, path in little:
            where = f"{url}{path}" if path.startswith("/") else path
            assert api.request(method, where, content=bytes(MIB // 2)).status_code == 413, path
        assert api.post("jobs", content=bytes(9 * MIB)).status_code == 413
        assert api.post("jobs/validate", content=bytes(9 * MIB)).status_code == 413
        node = {"Authorization": f"{AUTH_SCHEME} {world.nodes[0].session.node_id}:{world.nodes[0].session.credential}"}
        assert httpx.post(f"{url}/node/v1/logs", content=bytes(6 * MIB), headers=node).status_code == 413


def test_of_a_stranger_no_more_is_taken_than_stays_in_memory(world: World) -> None:
    west = world.nodes[0].session
    strangers = ["", "Token junk", f"Token {'0' * 64}", f"{AUTH_SCHEME} {west.node_id}:junk", "Bearer am.x"]
    output = "/node/v1/containers/c-1-1-1/outputs/x?path=x&sha256=" + "0" * 64
    with web() as url:
        for who in strangers:
            for method, path in (("PUT", ARTIFACT), ("PUT", output), ("POST", "/api/v1/jobs/bulk")):
                known = {"Authorization": who} if who else {}
                with closing(raw(url, method, path, 30 * MIB, bytes(2 * MIB), **known)) as connection:
                    assert status(connection) == 401, (who, path)


def test_who_is_known_may_send_much(world: World) -> None:
    data = bytes(3 * MIB)
    west = world.nodes[0].session
    node = {"Authorization": f"{AUTH_SCHEME} {west.node_id}:{west.credential}"}
    with web() as url, client(url, world) as api:
        assert api.put(f"artifacts/{hashlib.sha256(data).hexdigest()}", content=data).status_code == 201
        where = f"{url}/node/v1/containers/c-1-1-1/outputs/x?path=x&sha256={hashlib.sha256(data).hexdigest()}"
        assert httpx.put(where, content=data, headers=node).status_code == 409  # known, and no such container
    assert Artifact.objects.get().size == len(data)


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/containers/c-1-1-1/logs", "/nowhere"])
def test_a_body_that_does_not_come_is_given_up(world: World, path: str) -> None:
    with web(HYDRA_BODY_WAIT_S="0.5") as url, closing(raw(url, "POST", path, 1000, b"some")) as connection:
        assert status(connection) == 408
        while connection.recv(4096):
            pass  # until the server has closed it


def test_an_address_sends_so_many_bodies_at_once_and_nodes_are_heard(world: World) -> None:
    west = world.nodes[0].session
    node = {"Authorization": f"{AUTH_SCHEME} {west.node_id}:{west.credential}"}
    with web(HYDRA_BODIES_ADDRESS="3") as url, ExitStack() as held:
        for _ in range(3):
            held.enter_context(closing(raw(url, "POST", "/api/v1/jobs/bulk", 30 * MIB, bytes(MIB - 1))))

        def refused() -> bool:
            """Or it has got the place of one of them, which it keeps: that one was refused then."""
            one = held.enter_context(closing(raw(url, "POST", "/api/v1/jobs/bulk", 30 * MIB, b"")))
            one.settimeout(3)
            with suppress(TimeoutError):
                return status(one) == 429
            return False

        wait_until(refused, 30, "three have their places")
        assert httpx.post(f"{url}/node/v1/logs", json={"chunks": []}, headers=node).status_code == 204


@pytest.mark.parametrize("depth", [300, 900, 100_000])
@pytest.mark.parametrize("path", ["jobs", "jobs/validate", "policy", "policy/validate", "policy/plan"])
def test_what_is_nested_beyond_reason_is_malformed(world: World, path: str, depth: int) -> None:
    answer = world["operator"].post(path, '{"document": ' + '{"a": [' * depth + "]}" * depth + "}")
    assert answer.status_code == 400 and "recursion" in answer.json()["detail"]
