"""Every route of the API is a call of the client, or stands here with the reason why it is none."""

import inspect
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator

from client import Client

Route = tuple[str, str]
_PAGE = "the page's: a program has a token instead of a session"
_MASTER = "an application master's, with its own token: the package hydra"
_WATCH = "for what watches the service, in its own format"
WITHOUT = {
    ("GET", "/api/v1/auth/csrf"): _PAGE,
    ("POST", "/api/v1/auth/session"): _PAGE,
    ("DELETE", "/api/v1/auth/session"): _PAGE,
    ("GET", "/api/v1/fleet"): "columns of numbers for the page's map: a program reads /nodes",
    ("GET", "/api/v1/healthz"): _WATCH,
    ("GET", "/api/v1/metrics"): _WATCH,
    ("POST", "/api/v1/am/register"): _MASTER,
    ("POST", "/api/v1/am/allocate"): _MASTER,
    ("POST", "/api/v1/am/launch"): _MASTER,
    ("POST", "/api/v1/am/finish"): _MASTER,
    ("GET", "/api/v1/am/events"): _MASTER,
    ("GET", "/api/v1/am/containers/{container}/outputs/{name}"): _MASTER,
}
# Arguments that lead a call to other routes, beside what ``argument`` gives.
CHOICES: dict[str, list[dict[str, Any]]] = {
    "steer_rollout": [{"what": what} for what in ("pause", "resume", "abort")],
    "revoke_join_token": [{"kind": kind} for kind in ("node", "sub_cluster")],
}
JOB = {"name": "x", "groups": [{"name": "g", "command": ["true"]}]}
BY_NAME: dict[str, Any] = {"digest": "0" * 64, "source": __file__, "job": JOB, "jobs": [JOB], "files": []}
BY_TYPE: dict[str, Any] = {"int": 7, "str": "x", "datetime": datetime.now(UTC), "Sequence[str]": ["x"]}
BY_TYPE["Mapping[int, int]"] = {7: 0}


class Handler(BaseHTTPRequestHandler):
    """Notes what is asked, and answers with an empty object; it holds no artifact, so that they are uploaded."""

    protocol_version = "HTTP/1.1"
    seen: set[Route]

    def any(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.add((self.command, unquote(urlsplit(self.path).path)))
        self.send_response(404 if self.command == "HEAD" else 200)
        self.send_header("Content-Length", "0" if self.command == "HEAD" else "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"{}")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = any

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""


@pytest.fixture
def server() -> Iterator[tuple[str, set[Route]]]:
    seen: set[Route] = set()
    listening = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"seen": seen}))
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}", seen
    listening.shutdown()
    thread.join()


def argument(parameter: inspect.Parameter, folder: Path) -> Any:
    if parameter.name == "target":
        return folder / "file"
    kind = str(parameter.annotation).partition(" |")[0]
    return BY_NAME.get(parameter.name, BY_TYPE.get(kind, {}))


def calls(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each method of the client, with arguments for what it must be given."""
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        needed = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty and p.name != "self"]
        given = {p.name: argument(p, folder) for p in needed if p.kind is not p.VAR_KEYWORD}
        if not name.startswith("_") and name != "close":
            for choice in CHOICES.get(name, [{}]):
                yield name, given | choice


def ask_everything(url: str, folder: Path) -> None:
    with Client(url, "token", retry_s=0) as client:
        for name, given in calls(folder):
            # Nothing can be made of an empty answer; what was asked counts.
            with suppress(Exception):
                answer = getattr(client, name)(**given)
                list(answer if isinstance(answer, Iterator) else ())


def described() -> set[Route]:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return {(method.upper(), path) for path, operations in paths.items() for method in operations}


def as_described(method: str, path: str) -> Route:
    route = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", resolve(path).route)
    return "GET" if method == "HEAD" else method, f"/{route}"


def test_every_route_is_a_call(server: tuple[str, set[Route]], tmp_path: Path) -> None:
    url, seen = server
    ask_everything(url, tmp_path)
    called, routes = {as_described(*each) for each in seen}, described()
    assert called <= routes
    missing = [" ".join(route) for route in sorted(routes - called - WITHOUT.keys())]
    assert not missing, f"no call of client.Client, and no reason in WITHOUT: {', '.join(missing)}"
    stale = [" ".join(route) for route in sorted(WITHOUT.keys() & called | WITHOUT.keys() - routes)]
    assert not stale, f"in WITHOUT, and called or not there: {', '.join(stale)}"
