"""Whatever people send of commands, ports, secrets, receivers, services and use: it is answered, in words that help.

``test_schema`` asks every route with what its schema allows, and around it; here what is sent was sound before.
"""

import asyncio
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import caches
from django.test import Client

from controlplane.router.execs.app import REFUSED, Execs
from controlplane.statestore.models import Exec, Job, Notification
from tests import mutations
from tests.integration.api import rows
from tests.integration.api.test_fuzzed import Request, changed, send
from tests.integration.api.world import World, job
from tests.seeds import drawn
from wire import nodeapi
from wire.execs import SOCKET
from wire.ids import format_container
from wire.states import JobState

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 25  # each request
RULES = {"max_unavailable": 1, "max_surge": 2, "min_ready_s": 1.5, "deadline_s": 60.0, "max_failures": 3}
GROUP = {
    "name": "web", "command": ["serve"], "count": 3, "env": {"A": "b"}, "resources": {"memory_mib": 64},
    "ports": [{"name": "http"}], "health_check": {"port": "http", "http": "/"}, "node_labels": "gpu && !spot",
    "locality": {"racks": ["r1"]}, "placement": "spread", "secrets": [{"name": "db", "env": "DB"}],
}  # fmt: skip
SPEC = job(kind="service", groups=[GROUP], notify=[{"receiver": "ci", "events": ["failed"]}])
WHEN = (("owner", "tenant"), ("queue", "root.default"), ("begin", "2026-11-01T00:00:00Z"), ("end", "2026-11-20"))
HOOK = {"webhook": "https://hooks.example.org/t?x=1", "mail": False, "every_job": ["failed", "killed"]}
COMMAND = {"command": ["sh", "-c", "true"], "tty": True, "rows": 24, "columns": 80, "term": "xterm-256color"}


def unhelpful(world: World, requests: list[Request], rng: Random, times: int) -> list[Any]:
    """Requests, changed, that were answered by a fault, or refused without saying where and what to do."""
    http, me, found = Client(raise_request_exception=False), f"Token {world['tenant'].token}", []
    for sound in requests:
        for _ in range(times):
            method, address, body = changed(rng, sound)
            answer = send(http, method, f"/api/v1/{address}", body, me)
            Exec.objects.all().delete()
            Notification.objects.all().delete()
            if answer.status_code >= 500 or not helps(answer):
                found.append((method, address[:200], body[:300], answer.status_code, answer.content[:500]))
    return found


def helps(answer: Any) -> bool:
    """Whether a refusal is a problem document, and names each field that is wrong with a remedy."""
    if answer.status_code < 400:
        return True
    if answer["Content-Type"] != "application/problem+json":
        return False
    problem = answer.json()
    named = [
        all(isinstance(e[part], str) and e[part] for part in ("field", "message", "remedy")) for e in problem["errors"]
    ]
    return bool(problem["detail"]) and all(named) and bool(named) >= (answer.status_code == 422)


@pytest.fixture
def service(world: World) -> Job:
    """One that runs, was updated once, and has all that it names."""
    assert world["tenant"]("PUT", "me/secrets/db", {"value": "x"}).status_code == 201
    assert world["tenant"]("PUT", "me/receivers/ci", HOOK).status_code == 201
    made = world["tenant"].post("jobs", SPEC)
    assert made.status_code == 201, made.content
    Job.objects.filter(pk=made.json()["id"]).update(state=JobState.RUNNING)
    return Job.objects.get(pk=made.json()["id"])


@pytest.fixture
def rng() -> Random:
    return drawn(11)


@pytest.fixture
def times(soak: bool) -> int:
    return 40 * TIMES if soak else TIMES


def test_what_is_asked_of_containers_and_services_is_answered_in_words(
    world: World, service: Job, rng: Random, times: int
) -> None:
    live = format_container(rows.container(service, world.nodes[0].session.node_id).pk)
    at = f"jobs/{service.pk}"
    sound = [
        Request("POST", f"containers/{live}/exec", COMMAND),
        Request("POST", f"containers/{live}/forward", {"ports": [80, 8080]}),
        Request("POST", f"{at}/scale", {"group": "web", "count": 2}),
        Request("POST", f"{at}/restart", {"group": "web", "index": 0}),
        Request("PUT", f"{at}/spec", RULES | {"revision": 1, "spec": SPEC}),
        Request("PUT", f"{at}/spec", RULES | {"revision": 1, "spec": SPEC}),
        Request("POST", f"{at}/rollback", RULES | {"revision": 1, "to": 1}),
        Request("POST", "jobs/validate", SPEC),
    ]
    assert not unhelpful(world, sound, rng, times)
    again = send(
        Client(), "POST", f"/api/v1/containers/{live}/exec", b'{"command": ["ls"]}', f"Token {world['tenant'].token}"
    )
    assert again.status_code == 201


def test_what_is_asked_of_ones_own_things_is_answered_in_words(
    world: World, service: Job, rng: Random, times: int
) -> None:
    sound = [
        Request("PUT", "me/secrets/db", {"value": "s3cret"}), Request("DELETE", "me/secrets/other"),
        Request("PUT", "me/receivers/ci", HOOK), Request("PUT", "me/receivers/mail", {"mail": True}),
        Request("DELETE", "me/receivers/other"), Request("POST", "me/receivers/ci/test"),
        Request("GET", "me/receivers/ci/notifications", query=(("page_size", "2"), ("cursor", "AAAA"))),
        Request("GET", "usage/tags", query=WHEN), Request("GET", "usage/tags.csv", query=WHEN),
        Request("GET", "usage/hours", query=(*WHEN, ("step", "day"))),
    ]  # fmt: skip
    assert not unhelpful(world, sound, rng, times)


def test_whatever_a_handshake_of_a_command_says_it_is_refused(
    world: World, service: Job, rng: Random, times: int
) -> None:
    live = format_container(rows.container(service, world.nodes[0].session.node_id).pk)
    number = world["tenant"].post(f"containers/{live}/exec", COMMAND).json()["id"]
    session = world.nodes[0].session
    sound = {
        "authorization": f"Token {world['other'].token}", "cookie": f"{settings.SESSION_COOKIE_NAME}=abc; x=y",
        "host": "localhost", "origin": "http://localhost",
    }  # fmt: skip
    ours = sound | {"authorization": f"Node {session.node_id}:{session.credential}"}

    def scope(path: str, said: dict[str, str]) -> dict[str, Any]:
        head = {n: mutations.text(rng, v) if rng.random() < 0.4 else v for n, v in said.items() if rng.random() < 0.8}
        encoded = [(name.encode(), value.encode("latin1", "replace")) for name, value in head.items()]
        path = mutations.text(rng, path) if rng.random() < 0.3 else path
        return {"type": "websocket", "path": path, "headers": encoded, "client": ("192.0.2.1", 1), "scheme": "ws"}

    async def play() -> None:
        passed = list[str]()

        async def other(scope: Any, *_: Any) -> None:
            passed.append(scope["path"])

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        application = Execs(other)
        for _ in range(2 * times):
            for path, said in ((f"{SOCKET}/{number}", sound), (f"{nodeapi.PREFIX}/execs/{number}", ours)):
                told = list[Any]()

                async def send(message: Any, told: list[Any] = told) -> None:
                    told.append(message)

                caches["throttles"].clear()
                before = len(passed)
                await application(scope(path, said), receive, send)
                refused = [{"type": "websocket.close", "code": REFUSED, "reason": ""}]
                assert told == refused or (not told and len(passed) == before + 1)

    asyncio.run(play())
