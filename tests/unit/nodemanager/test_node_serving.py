"""Ports and health checks: which ports are given, what answers mean, and what the core does about them."""

import contextlib
import dataclasses
import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemanager import events as ev
from nodemanager import lifecycle
from nodemanager.checks import STARTING_S, Check, from_json, to_json
from nodemanager.clock import Clock
from nodemanager.config import ConfigError, load
from nodemanager.containers import Node
from nodemanager.core import Core
from nodemanager.endpoints import STRANGER, Endpoints, own_address
from nodemanager.http import Http
from nodemanager.listening import Listener, listeners, takers
from nodemanager.ports import NoPort, Ports
from nodemanager.prober import Prober
from nodemanager.state import container_from_json, container_to_json
from tests.unit.nodemanager.test_node_core import DIGEST, PLAIN, World, lease
from wire import desired, template
from wire.states import ContainerReason as Reason
from wire.states import ContainerState as State
from wire.template import HealthCheck, Port

RULE = HealthCheck("http", "/", interval_s=10.0, timeout_s=2.0, start_s=5.0, failures=3)
SERVER = dataclasses.replace(PLAIN, ports=[Port("http"), Port("admin")], health_check=RULE)


# --- the template

VERSION_1 = {
    "job_name", "group", "count", "queue", "user", "command", "shell", "env", "files", "inputs", "outputs", "grace_s",
    "log_max_bytes", "simulated_s",
}  # fmt: skip


def test_a_template_names_the_lowest_version_that_can_read_it() -> None:
    raw = template.encode(PLAIN)
    assert set(json.loads(raw)) == VERSION_1, "older nodes must read it: a new field belongs into template.ADDED"
    assert template.decode(raw, desired.digest(raw)) == PLAIN
    raw = template.encode(SERVER)
    assert json.loads(raw)["version"] == 2
    assert template.decode(raw, desired.digest(raw)) == SERVER
    raw = template.encode(dataclasses.replace(PLAIN, array={"b": [1], "a": [0.5, "x"]}))
    assert json.loads(raw)["version"] == 3
    assert template.decode(raw, desired.digest(raw)).array == {"a": [0.5, "x"], "b": [1]}
    newer = json.dumps(json.loads(raw) | {"version": template.VERSION + 1}).encode()
    with pytest.raises(ValueError, match="newer"):
        template.decode(newer, desired.digest(newer))


# --- the check


def test_failures_count_after_the_grace_or_once_it_has_served() -> None:
    check = Check(RULE)
    assert not check.record_result(False, 1.0) and check.healthy is None and check.failures == 0
    assert check.record_result(True, 2.0) and check.healthy is True
    assert check.record_result(False, 3.0) and check.healthy is False and not check.given_up
    assert not check.record_result(False, 4.0)
    assert check.record_result(True, 4.5) and check.failures == 0
    late = Check(RULE)
    assert [late.record_result(False, 6.0) for _ in range(3)] == [True, False, False] and late.given_up


def test_it_is_asked_often_until_it_serves_and_never_twice_at_once() -> None:
    check = Check(RULE)
    assert check.due(100.0) and not check.due(200.0)
    check.record_result(False, 0.0)
    assert not check.due(100.0 + STARTING_S / 2) and check.due(100.0 + STARTING_S)
    check.record_result(True, 1.0)
    assert check.due(102.0)
    check.record_result(True, 2.0)
    assert not check.due(111.9) and check.due(112.0)
    check.record_result(False, 12.0)
    assert not check.due(121.9) and check.due(122.0)  # one that fails has the same time to recover


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 20)), max_size=40))
def test_it_gives_up_exactly_after_so_many_failures_in_a_row(answers: list[tuple[bool, float]]) -> None:
    check, row, served = Check(RULE), 0, False
    for well, ran_s in sorted(answers, key=lambda a: a[1]):
        check.record_result(well, ran_s)
        served = served or well or ran_s > RULE.start_s
        row = 0 if well else row + served
        assert check.given_up == (row >= RULE.failures)
        assert check.healthy is (well if served else None)


def test_a_check_survives_in_local_state_and_in_the_order() -> None:
    check = Check(RULE, healthy=True, failures=2)
    again = from_json(json.loads(json.dumps(to_json(check))))
    assert again is not None and (again.rule, again.healthy, again.failures) == (RULE, True, 0)
    assert from_json(None) is None and from_json({"failures": 1}) is None


# --- the core


class Serving(World):
    def starts(self, cid: int = 1, numbers: tuple[int, ...] = (20_000, 20_001), held: frozenset[int] = frozenset()):
        self.core.templates[DIGEST] = SERVER
        entries = dict.fromkeys((*self.core.containers, cid), 1)
        assert self.want(entries, lease(cid)) == [ev.Localize(cid)]
        assert self.dispatch(ev.Localized(cid, "")) == [ev.FindPorts(cid, 2, held)]
        assert self.dispatch(ev.PortsFound(cid, list(numbers), "")) == [ev.Start(cid)]
        assert self.dispatch(ev.Started(cid, self.at)) == [ev.Announce(cid)]


def test_ports_are_found_before_the_start_and_told_after_it() -> None:
    world = Serving()
    world.starts()
    assert world.core.containers[1].ports == {"http": 20_000, "admin": 20_001}
    world.starts(2, (20_002, 20_003), frozenset({20_000, 20_001}))
    assert world.ends(ev.Exit()) == [ev.Withdraw(1, (20_000, 20_001))]


def test_no_ports_no_start() -> None:
    world = Serving()
    world.core.templates[DIGEST] = SERVER
    world.want({1: 1}, lease(1))
    world.dispatch(ev.Localized(1, ""))
    assert world.dispatch(ev.PortsFound(1, [], "none are free")) == []
    assert world.result() == (State.FAILED, Reason.START)


def test_a_container_that_fails_its_check_is_stopped_and_told_apart() -> None:
    world = Serving()
    world.starts()
    probe = ev.Probe(1, 20_000, "/", 2.0)
    assert world.dispatch(ev.Tick(world.at)) == [probe]
    assert world.dispatch(ev.Probed(1, "", world.at)) == [ev.Announce(1)]
    told = []
    for i in range(1, 4):
        at = world.at + 20.0 * i
        world.dispatch(ev.Contact(at))
        assert world.dispatch(ev.Tick(at)) == [probe]
        assert world.dispatch(ev.Tick(at + 15.0)) == []  # the last question is still open
        told += world.dispatch(ev.Probed(1, "HTTP status 500", at))
    assert told == [ev.Announce(1), ev.Stop(1, PLAIN.grace_s)]
    world.ends(ev.Exit())
    assert world.result() == (State.FAILED, Reason.UNHEALTHY)
    assert world.dispatch(ev.Probed(1, "late", world.at)) == []


def test_a_verdict_is_kept_before_it_is_told() -> None:
    world = Serving()
    world.starts()
    world.dispatch(ev.Tick(world.at))
    assert world.core.handle(ev.Probed(1, "", world.at)) == [ev.Persist(), ev.Announce(1)]


def test_an_agents_restart_keeps_ports_and_check() -> None:
    world = Serving()
    world.starts()
    known = world.core.containers[1]
    order = json.loads(json.dumps(lifecycle.meta(known)))  # as it was given to the runtime
    world.dispatch(ev.Tick(world.at))
    world.dispatch(ev.Probed(1, "", world.at))
    raw = json.loads(json.dumps(container_to_json(known)))
    for saved in ([container_from_json(raw, 0.0)], []):  # with and without local state
        core = Core(Node(7, 1, 60.0))
        core.containers = {c.container_id: c for c in saved}
        out = core.handle(ev.RuntimeListed([ev.RuntimeContainer(1, order, 7000)], 50.0))
        assert ev.Announce(1) in out
        again = core.containers[1]
        assert again.ports == {"http": 20_000, "admin": 20_001}
        assert again.check is not None and again.check.rule == RULE
        assert again.check.healthy is (True if saved else None)
        assert ev.Probe(1, 20_000, "/", 2.0) in core.handle(ev.Tick(51.0))


# --- ports of the machine


@pytest.fixture
def somebody() -> Iterator[int]:
    """A port in use and, most likely, a few free ones after it."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        yield s.getsockname()[1]


def test_ports_in_use_taken_or_claimed_are_not_given(somebody: int) -> None:
    mine, other = Ports(somebody, somebody + 20), Ports(somebody, somebody + 20)
    first = mine.find(3, {somebody + 1})
    second = other.find(3, set())
    assert len({*first, *second}) == 6 and not {somebody, somebody + 1} & set(first) and somebody not in second
    for port in first:
        mine.release(port)
    with pytest.raises(NoPort, match="free ports"):
        mine.find(30, set())
    assert not mine.claims  # what was found before it gave up is free again


def test_they_are_given_round_the_range(somebody: int) -> None:
    ports = Ports(somebody + 1, somebody + 30)
    seen = []
    for _ in range(5):
        (port,) = ports.find(1, set())
        ports.release(port)
        seen.append(port)
    assert len(set(seen)) == 5


# --- probing


class Upstream:
    """A server that answers each connection with the same bytes, after a while or never."""

    def __init__(self, answer: bytes | None) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port, self.answer, self.asked = self.server.getsockname()[1], answer, b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # closed by the test, or by a prober that has heard enough
            while True:
                connection, _ = self.server.accept()
                with contextlib.suppress(OSError):
                    self.asked = connection.recv(4096) or self.asked
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        if self.answer is None:
            return
        with connection:
            for at in range(min(40, len(self.answer))):
                connection.send(self.answer[at : at + 1])  # in pieces
            connection.sendall(self.answer[40:])

    def close(self) -> None:
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def ask(port: int, path: str, timeout_s: float = 5.0) -> str:
    heard: list[tuple[int, str]] = []
    with selectors.DefaultSelector() as selector:
        prober = Prober(selector, lambda cid, wrong: heard.append((cid, wrong)))
        prober.probe(7, "127.0.0.1", port, path, timeout_s)
        while not heard:
            for key, mask in selector.select(0.05):
                key.data(mask)
            prober.tick(time.monotonic())
        assert not prober.open and not selector.get_map()
    assert len(heard) == 1 and heard[0][0] == 7
    return heard[0][1]


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", ""),
        (b"HTTP/1.0 302 Found\r\nLocation: /x\r\n\r\n", ""),
        (b"HTTP/1.1 503 Busy\r\n\r\n", "HTTP status 503"),
        (b"SSH-2.0-x\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 2", "the answer is not HTTP"),
        (b"x" * 100_000, "the answer is not HTTP"),
        (None, "no answer within 0.2 s"),
    ],
)
def test_what_counts_as_serving(answer: bytes | None, wrong: str) -> None:
    upstream = Upstream(answer)
    assert ask(upstream.port, "/healthz?x=1", 0.2 if answer is None else 5.0) == wrong
    assert upstream.asked.startswith(b"GET /healthz?x=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert ask(upstream.port, "") == ""  # a connection is enough
    upstream.close()
    assert ask(upstream.port, "/") in ("Connection refused", "Connection reset by peer")


def health(tmp_path: Path, user: int | None, port: int) -> str:
    """What a task of this user is told of itself, asked at this port: "" that it is well."""
    plain = {"HYDRA_NODE_CONTROL_PLANE": "http://x", "HYDRA_NODE_NAME": "n", "HYDRA_NODE_DIR": str(tmp_path)}
    heard, http = list[Any](), Http("http://x", "", Clock())
    with selectors.DefaultSelector() as selector:
        endpoints = Endpoints(
            load("", plain), {7: user}.get, World().core, selector, http, heard.append, time.monotonic
        )
        endpoints.probe(ev.Probe(7, port, "/", 5.0))
        while not heard:
            for key, mask in selector.select(0.05):
                key.data(mask)
        endpoints.close()
    assert [each.container_id for each in heard] == [7]
    return str(heard[0].wrong)


@pytest.mark.parametrize(("user", "wrong"), [(234_567, STRANGER), (None, ""), (os.geteuid(), "")])
def test_who_listens_in_a_tasks_place_answers_nothing_for_it(tmp_path: Path, user: int | None, wrong: str) -> None:
    """This process stands for another tenant's; where all tasks have one user, it may be the task."""
    upstream = Upstream(b"HTTP/1.1 200 OK\r\n\r\n")
    assert health(tmp_path, user, upstream.port) == wrong
    upstream.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be others")
def test_who_listens_on_its_port_at_another_address_does_it_no_harm(tmp_path: Path) -> None:
    upstream = Upstream(b"HTTP/1.1 200 OK\r\n\r\n")
    (ready, tell), (hear, end) = os.pipe(), os.pipe()
    if (pid := os.fork()) == 0:
        os.close(end)
        os.setresuid(234_567, 234_567, 234_567)
        with socket.create_server(("127.0.0.2", upstream.port)):
            os.write(tell, b"x")
            os.read(hear, 1)
        os._exit(0)
    try:
        os.read(ready, 1)
        assert {each.uid for each in listeners(upstream.port)} == {0, 234_567}
        assert health(tmp_path, 0, upstream.port) == ""
    finally:
        for fd in (end, ready, tell, hear):
            os.close(fd)
        os.waitpid(pid, 0)
    upstream.close()


def test_the_kernel_asks_the_nearest_listener() -> None:
    any4, any6, here, there = (
        Listener(80, address, uid, 0) for uid, address in enumerate(("0.0.0.0", "::", "127.0.0.1", "127.0.0.2"))
    )
    assert takers([any4, any6, here, there], "127.0.0.1") == [here]
    assert takers([any6, there, any4], "127.0.0.1") == [any4]
    assert takers([any6, there], "127.0.0.1") == [any6] == takers([any4, any6], "::1")
    assert takers([there], "127.0.0.1") == takers([any4], "::1") == []


# --- settings


def test_where_others_reach_it_is_asked_at_an_address_of_its_own() -> None:
    assert own_address("127.0.0.1") == "127.0.0.1"
    assert own_address("192.0.2.1") == "127.0.0.1"  # a forwarder's
    assert own_address("no-such-host.invalid") == "127.0.0.1"


def test_port_ranges_are_checked(tmp_path: Path) -> None:
    plain = {"HYDRA_NODE_CONTROL_PLANE": "http://x", "HYDRA_NODE_NAME": "n", "HYDRA_NODE_DIR": str(tmp_path)}
    assert load("", plain).ports == (20_000, 29_999)
    assert load("", plain | {"HYDRA_NODE_PORTS": "3000-3001"}).ports == (3000, 3001)
    for wrong in ("80-90", "3000", "5-x", "4000-3000", "1024-70000"):
        with pytest.raises(ConfigError, match="ports"):
            load("", plain | {"HYDRA_NODE_PORTS": wrong})
    with pytest.raises(ConfigError, match="advertise_host"):
        load("", plain | {"HYDRA_NODE_ADVERTISE_HOST": "http://x/"})
