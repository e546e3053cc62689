"""The tracking proxy: a real web process, a real application behind it, and who may reach it how."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from django.test import Client as Browser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from controlplane.router.proxy import headers, tickets
from controlplane.statestore.models import Endpoint, Job, Node
from tests.integration.api import rows
from tests.integration.api.served import web
from tests.integration.api.upstreams import PIECE, Upstream, closed_port, header
from tests.integration.api.world import PASSWORD, World, job
from tests.patience import stretched, wait_until
from wire.ids import format_container
from wire.states import JobState

pytestmark = pytest.mark.django_db(transaction=True)
PORTS = [{"name": name} for name in ("http", "ws", "dead", "other")]


@dataclass
class Site:
    """A web process, a job whose container is the upstream, and browsers of several accounts."""

    url: str
    world: World
    job: Job
    container: Any
    upstream: Upstream

    def browser(self, name: str, **options: Any) -> httpx.Client:
        client = httpx.Client(base_url=self.url, timeout=20, trust_env=False, **options)
        signer = Browser()
        assert signer.login(username=name, password=PASSWORD)
        client.cookies.set("sessionid", signer.cookies["sessionid"].value)
        return client

    def program(self, name: str) -> httpx.Client:
        token = {"Authorization": f"Token {self.world[name].token}"}
        return httpx.Client(base_url=self.url, headers=token, timeout=20, trust_env=False)

    def path(self, rest: str = "", endpoint: str = "http") -> str:
        return f"/proxy/{self.job.pk}/{endpoint}/{rest}"

    def tell(self, **ports: int) -> None:
        path = f"containers/{format_container(self.container.pk)}/endpoints"
        assert self.world.nodes[0]("POST", path, {"endpoints": ports}).status_code == 204

    def ticket(self, name: str = "tenant", endpoint: str = "http") -> str:
        return tickets.issue(self.world.users[name], self.job.pk, endpoint)


@pytest.fixture(scope="module")
def process(django_db_setup: None) -> Iterator[str]:
    with web(HYDRA_PROXY_ANSWER_S="1.5") as url:
        yield url


@pytest.fixture
def site(process: str, world: World) -> Iterator[Site]:
    Node.objects.update(host="127.0.0.1")
    service = job(kind="service", groups=[{"name": "web", "command": ["serve"], "ports": PORTS}])
    row = Job.objects.get(pk=world["tenant"].post("jobs", service).json()["id"])
    Job.objects.filter(pk=row.pk).update(state=JobState.RUNNING)
    upstream = Upstream()
    found = Site(process, world, row, rows.container(row, world.nodes[0].session.node_id), upstream)
    found.tell(http=upstream.port, dead=closed_port())
    yield found
    upstream.close()


def test_the_owner_is_sent_on_with_a_ticket_and_sees_the_page(site: Site) -> None:
    with site.browser("tenant", follow_redirects=True) as browser:
        answer = browser.get(site.path("a%2Fb/c?x=1&y=%20"))
        seen = answer.json()
        assert seen["path"] == "/a%2Fb/c?x=1&y=%20" and header(seen, "x-hydra-user") == ["tenant"]
        assert "/~" in answer.url.path and header(seen, "x-forwarded-prefix") == [answer.url.path.partition("/a/b")[0]]
        assert header(seen, "host") == [f"127.0.0.1:{site.upstream.port}"]
        assert not header(seen, "cookie") and site.world["tenant"].token not in answer.text
        assert answer.headers["content-security-policy"] == headers.SANDBOX
        prefix = header(seen, "x-forwarded-prefix")[0]
    # The sandboxed page's own requests carry no cookies, only the ticket in their path.
    page = httpx.Client(base_url=site.url, headers={"Origin": "null"}, trust_env=False)
    posted = page.post(f"{prefix}/api", content=b"z" * 300_000)
    assert posted.json()["size"] == 300_000 and posted.headers["access-control-allow-origin"] == "*"
    assert header(posted.json(), "origin") == [f"http://127.0.0.1:{site.upstream.port}"]
    allowed = page.options(f"{prefix}/api", headers={"Access-Control-Request-Method": "PUT"})
    assert allowed.status_code == 204 and allowed.headers["access-control-allow-methods"] == "*"
    bare = page.get(prefix)
    assert (bare.status_code, bare.headers["location"]) == (308, f"{prefix}/")


def test_who_may_not_change_the_job_does_not_reach_its_pages(site: Site) -> None:
    verdicts = {"tenant": 200, "operator": 200, "other": 404, "viewer": 403, "submitter": 404, "admin": 404}
    for name, status in verdicts.items():
        with site.browser(name, follow_redirects=True) as browser, site.program(name) as program:
            assert browser.get(site.path()).status_code == status, name
            assert program.get(site.path()).status_code == status, name
        carried = httpx.get(f"{site.url}{site.path(site.ticket(name))}/", trust_env=False)
        assert carried.status_code == status, name
    nobody = httpx.get(site.url + site.path(), trust_env=False)
    assert nobody.status_code == 401 and "Sign in" in nobody.text and "/login?next=" in nobody.text
    forged = httpx.get(site.url + site.path(), headers={"Authorization": "Token " + "0" * 64}, trust_env=False)
    assert forged.status_code == 401
    assert len(site.upstream.seen) == 6  # the two that may, three ways each
    Job.objects.filter(pk=site.job.pk).update(queue="root.prod")
    with site.program("admin") as admin, site.program("submitter") as submitter:
        wait_until(lambda: admin.get(site.path("x")).status_code == 200, 10, "an admin of its queue may")
        wait_until(lambda: submitter.get(site.path("x")).status_code == 403, 10, "who may only submit there may not")


def test_tickets_are_good_for_one_endpoint_and_end_with_rights_and_password(site: Site) -> None:
    good = site.ticket()

    def status(segment: str, endpoint: str = "http") -> int:
        return httpx.get(f"{site.url}{site.path(segment, endpoint)}/", trust_env=False).status_code

    assert status(good) == 200
    assert [status(wrong) for wrong in (good[:-1] + ("A" if good[-1] != "A" else "B"), "~", "~x:y:z")] == [401] * 3
    assert status(good, "dead") == 401
    assert status(tickets.issue(site.world.users["tenant"], site.job.pk + 1, "http")) == 401
    user = site.world.users["tenant"]
    user.set_password("another-long-password")
    user.save()
    wait_until(lambda: status(good) == 401, 10, "the ticket ends with the password")
    user.is_active = False
    user.save()
    assert status(site.ticket()) == 401


def test_a_request_that_changes_something_needs_a_ticket(site: Site) -> None:
    with site.browser("tenant") as browser:
        assert browser.post(site.path()).status_code in (403, 405)
    assert not site.upstream.seen


def test_nothing_of_ours_goes_in_and_nothing_harmful_comes_out(site: Site) -> None:
    with site.browser("tenant") as browser:
        browser.cookies.set("csrftoken", "c" * 32)
        browser.cookies.set("theirs", "1")
        path = site.path(site.ticket())
        seen = browser.get(f"{path}/", headers={"X-Hydra-User": "root", "Authorization": "Bearer x"}).json()
        assert header(seen, "cookie") == ["theirs=1"] and header(seen, "x-hydra-user") == ["tenant"]
        assert not header(seen, "authorization")
        answer = browser.get(f"{path}/cookies")
        assert answer.headers.get_list("set-cookie") == [f"theirs=1; Path={site.path()}"]
        assert "clear-site-data" not in answer.headers
        failed = browser.get(f"{path}/error")
        assert failed.status_code == 500 and failed.headers["content-security-policy"] == headers.SANDBOX


def test_redirects_stay_inside_or_are_told(site: Site) -> None:
    with site.program("tenant") as program:
        inside = program.get(site.path("redirect"))
        assert (inside.status_code, inside.headers["location"]) == (302, site.path("landed?x=1"))
        outside = program.get(site.path("elsewhere"))
        assert outside.status_code == 502 and "location" not in outside.headers
        assert "leads elsewhere" in outside.text and "https://evil.example/?steal" in outside.text


@pytest.mark.parametrize(
    ("rest", "endpoint", "status", "words"),
    [
        ("huge", "http", 502, "nonsense"),
        ("nonsense", "http", 502, "nonsense"),
        ("slow", "http", 504, "too long"),
        ("drip", "http", 504, "too long"),
        ("", "dead", 502, "cannot be reached"),
        ("", "other", 502, "No running task"),
        ("", "web.7.http", 502, "No running task"),
    ],
)
def test_what_goes_wrong_is_said_in_words(site: Site, rest: str, endpoint: str, status: int, words: str) -> None:
    with site.program("tenant") as program:
        answer = program.get(site.path(rest, endpoint))
        assert answer.status_code == status
        assert words in answer.text and "default-src 'none'" in answer.headers["content-security-policy"]
        assert program.get(site.path("fine")).status_code == 200


def test_an_ended_container_or_job_or_a_moved_node_is_not_reached(site: Site) -> None:
    with site.program("tenant") as program:
        assert program.get(site.path()).status_code == 200
        Node.objects.update(host="127.0.0.2")  # nobody said that its container serves there
        wait_until(lambda: program.get(site.path()).status_code == 502, 10, "the node has moved")
        Node.objects.update(host="127.0.0.1")
        wait_until(lambda: program.get(site.path()).status_code == 200, 10, "the node is back")
        rows.end(site.container)
        assert Endpoint.objects.exists()
        wait_until(lambda: "No running task" in program.get(site.path()).text, 10, "the container has ended")
        rows.finish(site.job.pk, JobState.KILLED)
        wait_until(lambda: "has ended" in program.get(site.path()).text, 10, "the job has ended")


def test_long_answers_stream_without_being_held(site: Site) -> None:
    with site.program("tenant") as program, program.stream("GET", site.path("flood")) as answer:
        pieces = answer.iter_raw()
        size = len(next(pieces))
        assert not site.upstream.flooded.wait(0.5)  # 52 MB do not fit into what lies between
        size += sum(len(piece) for piece in pieces)
    assert size == site.upstream.pieces * len(PIECE) and site.upstream.flooded.is_set()


def test_long_bodies_stream_and_a_cut_answer_is_seen_as_cut(site: Site) -> None:
    def body() -> Iterator[bytes]:
        for _ in range(640):
            yield PIECE

    with site.program("tenant") as program:
        assert program.put(site.path("up"), content=body()).json()["size"] == 640 * len(PIECE)
        with pytest.raises(httpx.RemoteProtocolError):
            program.get(site.path("cut"))


def test_who_leaves_is_not_served_on(site: Site) -> None:
    with site.program("tenant") as program, program.stream("GET", site.path("endless")) as answer:
        assert next(answer.iter_raw()).startswith(b"tick")
    assert site.upstream.left.wait(stretched(5))


def test_one_endpoint_does_not_take_all_connections(site: Site) -> None:
    with site.program("tenant") as program, ExitStack() as held:
        program.timeout = 60
        for _ in range(64):
            assert held.enter_context(program.stream("GET", site.path("endless"))).status_code == 200
        refused = program.get(site.path())
        assert refused.status_code == 503 and "as many requests open" in refused.text
        held.close()
        wait_until(lambda: program.get(site.path()).status_code == 200, 10, "there is room again")


# --- WebSockets


@pytest.fixture
def echo(site: Site) -> Iterator[list[dict[str, Any]]]:
    """An application that tells how it was greeted, then repeats what it hears."""
    greetings: list[dict[str, Any]] = []

    def talk(socket: ServerConnection) -> None:
        assert socket.request is not None
        greetings.append({"path": socket.request.path, "headers": list(socket.request.headers.raw_items())})
        for message in socket:
            if message == "bye":
                socket.close(4001, "as you wish")
                return
            socket.send(message)

    server = serve(talk, "127.0.0.1", 0, subprotocols=["v2"], max_size=None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site.tell(ws=server.socket.getsockname()[1], other=closed_port())
    yield greetings
    server.shutdown()


def test_sockets_pass_both_ways(site: Site, echo: list[dict[str, Any]]) -> None:
    ticket = site.ticket(endpoint="ws")
    address = f"{site.url.replace('http', 'ws', 1)}{site.path(ticket, 'ws')}"
    cookie = {"Cookie": "sessionid=s3cret; theirs=1"}
    with connect(
        f"{address}/chat?room=1", subprotocols=["v1", "v2"], origin="null", additional_headers=cookie, proxy=None
    ) as socket:  # type: ignore[arg-type]
        assert socket.subprotocol == "v2"
        for message in ("hello", b"\x00\x01", "é" * 100_000):
            socket.send(message)
            assert socket.recv(5) == message
        socket.send("bye")
        with pytest.raises(Exception, match="4001"):
            socket.recv(5)
    (greeting,) = echo
    assert greeting["path"] == "/chat?room=1"
    assert header(greeting, "cookie") == ["theirs=1"] and header(greeting, "x-hydra-user") == ["tenant"]
    port = header(greeting, "host")[0]
    assert header(greeting, "origin") == [f"http://{port}"]


def test_sockets_of_strangers_and_to_nowhere_are_refused(site: Site, echo: list[dict[str, Any]]) -> None:
    base = site.url.replace("http", "ws", 1)
    tries = [
        (site.path(site.ticket("other", "ws"), "ws"), {}),
        (site.path("x", "ws"), {}),
        (site.path(site.ticket(endpoint="http"), "ws"), {}),
        (site.path("x", "other"), {"Authorization": f"Token {site.world['tenant'].token}"}),
    ]
    for path, extra in tries:
        with (
            pytest.raises(InvalidStatus),
            connect(f"{base}{path}/", additional_headers=extra, proxy=None, open_timeout=10),
        ):
            pass
    assert not echo
    own = tries[3][1]
    with connect(f"{base}{site.path('x', 'ws')}", additional_headers=own, subprotocols=["v2"], proxy=None) as socket:  # type: ignore[list-item]
        socket.send(json.dumps({"a": 1}))
        assert socket.recv(5) == '{"a": 1}'
