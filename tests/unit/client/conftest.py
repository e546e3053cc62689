"""A small real HTTP server that speaks the API the client uses, and fails on demand.

The true web process is what the integration tests use; here it is about
answers that the true one gives only in trouble.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from contract.accounts import Me
from contract.artifacts import Kept, KeptArtifact, MadeBy
from contract.jobs import Container, Group, JobChecked, JobDetail, LogPart, Outlook, Output, Task
from contract.jobusage import GroupUsage
from contract.nodes import Node, NodeContainer
from contract.queues import Queue
from contract.schedules import Schedule, ScheduleDetail
from contract.subclusters import Overview
from contract.waiting import GroupExplanation
from tests.answers import said_by_the_api
from tests.stores import ROOT

TOKEN = "secret-token"


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class Cluster:
    """What the server knows, and what it shall do wrong next."""

    url: str = ""
    ahead_s: float = 0.0  # its clock, of this machine's
    jobs: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    used: list[dict[str, Any]] = field(default_factory=list)  # by groups of any job
    nodes: list[dict[str, Any]] = field(default_factory=list)
    containers: list[dict[str, Any]] = field(default_factory=list)
    overview: dict[str, Any] = field(default_factory=dict)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    endpoints: list[dict[str, Any]] = field(default_factory=list)
    revisions: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)  # who is told of any job
    schedules: list[dict[str, Any]] = field(default_factory=list)
    logs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)  # containers whose streams are complete
    log_step: int = 7  # bytes per answer, to make many
    seen: list[Request] = field(default_factory=list)
    # Called before each request: None to go on, "drop" to close the connection unanswered, "drop-after" to do the
    # work and then close it, or (status, headers, body).
    trouble: Callable[[Request], Any] = lambda request: None
    warnings: list[dict[str, str]] = field(default_factory=list)  # of whatever is submitted or asked about
    changes: list[str] = field(default_factory=list)  # that an update makes
    refusing: list[dict[str, str]] = field(default_factory=list)  # what is wrong with any job
    on_get_job: Callable[[dict[str, Any]], None] = lambda job: None

    def requests(self, method: str, path: str) -> list[Request]:
        return [r for r in self.seen if r.method == method and r.path == "/api/v1" + path]

    def add_job(self, spec: dict[str, Any], state: str = "SUBMITTED") -> dict[str, Any]:
        groups = [
            said_by_the_api(Group, no=no, state="PENDING", **{"count": 1, **only(g, "name", "count", "after")})
            for no, g in enumerate(spec.get("groups", []))
        ]
        queue = spec.get("queue", "root.default")
        job = said_by_the_api(
            JobDetail, id=len(self.jobs) + 1, name=spec["name"], state=state, queue=queue, groups=groups, spec=spec,
            a_field_of_tomorrow=1,
        )  # fmt: skip
        self.jobs.append(job)
        return job


def only(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def problem(status: int, detail: str, errors: list[dict[str, str]] | None = None) -> tuple[int, dict[str, str], Any]:
    body = {"type": "urn:hydra:problem:test", "title": "Refused", "status": status, "detail": detail}
    return status, {}, {**body, "errors": errors or []}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: Cluster

    def handle_any(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = {k: v[-1] for k, v in parse_qs(parts.query).items()}
        request = Request(self.command, parts.path, query, dict(self.headers), body)
        self.cluster.seen.append(request)
        trouble = self.cluster.trouble(request)
        if trouble == "drop":
            self.close_connection = True
            return
        answer = trouble if isinstance(trouble, tuple) else route(self.cluster, request)
        if trouble == "drop-after":
            self.close_connection = True
            return
        self.answer(*answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any

    def answer(self, status: int, headers: dict[str, str], body: Any) -> None:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("Date", formatdate(time.time() + self.cluster.ahead_s, usegmt=True))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""


Answer = tuple[int, dict[str, str], Any]


def route(cluster: Cluster, request: Request) -> Answer:
    path = request.path.removeprefix("/api/v1")
    if path == "/auth/login":
        return login(json.loads(request.body))
    if request.headers.get("Authorization") != f"Token {TOKEN}":
        return problem(401, "no token")
    for pattern, handler in ROUTES:
        if match := re.fullmatch(pattern, f"{request.method} {path}"):
            return handler(cluster, request, *match.groups())
    return problem(404, "there is no such thing")


def login(body: dict[str, str]) -> Answer:
    if body != {"username": "ada", "password": "right"}:
        return problem(401, "", [{"field": "password", "message": "wrong name or password", "remedy": "try again"}])
    return 200, {}, {"token": TOKEN, "expiry": "2030-01-01T00:00:00Z", "user": said_by_the_api(Me, username="ada")}


def submit(cluster: Cluster, request: Request) -> Answer:
    if cluster.refusing:
        return problem(422, "the job has errors", cluster.refusing)
    key = request.headers["Idempotency-Key"]
    if key not in cluster.keys:
        cluster.keys[key] = cluster.add_job(json.loads(request.body))
    return 201, {}, cluster.keys[key] | {"warnings": cluster.warnings}


def check(cluster: Cluster, request: Request) -> Answer:
    if cluster.refusing:
        return problem(422, "the job has errors", cluster.refusing)
    spec = json.loads(request.body)
    estimate = {"earliest_s": 0.0, "latest_s": 1.0, "text": "Within a second: west has room for it."}
    fits = [{"sub_cluster": "west", "fits": True, "why": ""}, {"sub_cluster": "east", "fits": False, "why": "no GPUs"}]
    told = said_by_the_api(Outlook, home="west", why="load 0.10", sub_clusters=fits, admitted=True, estimate=estimate)
    known = {"queue": spec.get("queue", "root.default"), "tasks": 1, "spec": spec, "warnings": cluster.warnings}
    return 200, {}, said_by_the_api(JobChecked, **known, outlook=told | {"jobs_ahead": 2})


def bulk(cluster: Cluster, request: Request) -> Answer:
    return 201, {}, {"ids": [cluster.add_job(spec)["id"] for spec in json.loads(request.body)["jobs"]]}


def job(cluster: Cluster, request: Request, number: str) -> Answer:
    found = next((j for j in cluster.jobs if j["id"] == int(number)), None)
    if found is None:
        return problem(404, f"there is no job {number}, or it is not yours")
    cluster.on_get_job(found)
    return 200, {}, found


def explain(cluster: Cluster, request: Request, number: str) -> Answer:
    status, headers, found = job(cluster, request, number)
    if status != 200:
        return status, headers, found
    groups = []
    for g in found["groups"]:
        reason = g.get("reason")
        known = only(g, "no", "name", "state") | {"pending": 4, "as_of": (reason or {}).get("at"), "reason": reason}
        known["elsewhere"] = g.get("elsewhere", [])
        groups.append(said_by_the_api(GroupExplanation, **known))
    return 200, {}, {"job": found["id"], "state": found["state"], "waiting": None, "groups": groups}


def page(rows: list[dict[str, Any]], request: Request) -> Answer:
    """Two rows a page, whatever was asked for; the next page under an address of another host."""
    start = int(request.query.get("cursor", 0))
    query = "&".join(f"{k}={v}" for k, v in request.query.items() if k != "cursor")
    onward = f"http://behind.the.proxy:1{request.path}?cursor={start + 2}&{query}" if start + 2 < len(rows) else None
    return 200, {}, {"results": rows[start : start + 2], "next": onward, "previous": None}


def events(cluster: Cluster, request: Request) -> list[dict[str, Any]]:
    return cluster.events[::-1] if request.query.get("order") == "newest" else cluster.events


def tasks(cluster: Cluster, request: Request, _job: str) -> Answer:
    found = [said_by_the_api(Task, **t) for t in cluster.tasks]
    return page([t for t in found if request.query.get("group", t["group"]) == t["group"]], request)


def containers(cluster: Cluster, request: Request, _job: str) -> Answer:
    wanted = request.query.get("task")
    found = [said_by_the_api(Container, **c) for c in cluster.containers]
    return page([c for c in found if wanted in (None, f"{c['group']}/{c['index']}")], request)


def usage(cluster: Cluster, request: Request, _job: str) -> Answer:
    return 200, {}, {"results": [said_by_the_api(GroupUsage, **u) for u in cluster.used], "complete": True}


def nodes(cluster: Cluster, request: Request) -> Answer:
    wanted = request.query.get("name")
    found = [said_by_the_api(Node, **n) for n in cluster.nodes]
    return page([n for n in found if wanted in (None, n["name"])], request)


def node(cluster: Cluster, request: Request, number: str) -> Answer:
    found = [said_by_the_api(Node, **n) for n in cluster.nodes if n["id"] == int(number)]
    return (200, {}, found[0]) if found else problem(404, f"there is no node {number}")


def node_containers(cluster: Cluster, request: Request, number: str) -> Answer:
    there = [c for c in cluster.containers if c.get("on") == int(number)]
    return page([said_by_the_api(NodeContainer, **only(c, "id", "job")) for c in there], request)


def schedules(cluster: Cluster, request: Request) -> Answer:
    name, owner = request.query.get("name", ""), request.query.get("owner")
    found = [s for s in cluster.schedules if s["name"].startswith(name) and owner in (None, s["owner"])]
    return page([said_by_the_api(Schedule, **s) for s in found], request)


def schedule(cluster: Cluster, request: Request, number: str) -> Answer:
    found = [said_by_the_api(ScheduleDetail, **s) for s in cluster.schedules if s["id"] == int(number)]
    return (200, {}, found[0]) if found else problem(404, f"there is no schedule {number}")


def logs(cluster: Cluster, request: Request, container: str) -> Answer:
    data = cluster.logs.get((container, request.query["stream"]), b"")
    offset = int(request.query["offset"])
    piece = data[offset : offset + cluster.log_step]
    onward = offset + len(piece)
    complete = container in cluster.ended and onward == len(data)
    body = {"data": piece.decode(errors="replace"), "offset": offset, "next_offset": onward, "skipped": 0}
    return 200, {}, {**body, "complete": complete}


def merged_logs(cluster: Cluster, request: Request, container: str) -> Answer:
    """stdout, then stderr, ``log_step`` bytes an answer; a tail is found by lines of both."""
    streams = [s for s in ("stdout", "stderr") if request.query.get("stream", s) == s]
    whole = {s: cluster.logs.get((container, s), b"") for s in streams}
    at = dict(zip(("stdout", "stderr"), map(int, request.query.get("cursor", "0.0").split(".")), strict=True))
    if "tail" in request.query:
        lines = [(s, line) for s in streams for line in whole[s].splitlines(keepends=True)]
        left = lines[max(0, len(lines) - int(request.query["tail"])) :]
        at |= {s: len(whole[s]) - sum(len(line) for of, line in left if of == s) for s in streams}
    pieces = []
    stream = next((s for s in streams if at[s] < len(whole[s])), None)
    if stream:
        data = whole[stream][at[stream] : at[stream] + cluster.log_step]
        pieces = [said_by_the_api(LogPart, stream=stream, data=data.decode(errors="replace"), offset=at[stream])]
        at[stream] += len(data)
    complete = container in cluster.ended and all(at[s] == len(whole[s]) for s in streams)
    return 200, {}, {"pieces": pieces, "next": f"{at['stdout']}.{at['stderr']}", "complete": complete}


def put_artifact(cluster: Cluster, request: Request, digest: str) -> Answer:
    if hashlib.sha256(request.body).hexdigest() != digest:
        return problem(422, "the body has another digest")
    cluster.artifacts[digest] = request.body
    return 201, {}, {"digest": digest, "size": len(request.body)}


def get_artifact(cluster: Cluster, request: Request, digest: str) -> Answer:
    if digest not in cluster.artifacts:
        return problem(404, "there is no such artifact")
    return 200, {}, cluster.artifacts[digest]


def kept(cluster: Cluster, request: Request) -> Answer:
    """What the account keeps: an output, and what was uploaded."""
    made = said_by_the_api(MadeBy, job=7, group="map", index=3, name="part")
    results = [
        said_by_the_api(KeptArtifact, digest=digest, size=len(data), output=None if data else made)
        for digest, data in cluster.artifacts.items()
    ]
    size = sum(map(len, cluster.artifacts.values()))
    total = said_by_the_api(Kept, files=len(results), files_max=None, size=size, size_max=2048)
    return 200, {}, {"next": None, "previous": None, "results": results, "kept": total}


def delete_artifact(cluster: Cluster, request: Request, digest: str) -> Answer:
    if cluster.artifacts.pop(digest, None) is None:
        return problem(404, f"you keep no artifact {digest}")
    return 204, {}, None


def changed(cluster: Cluster, request: Request, number: str, what: str) -> Answer:
    status, headers, found = job(cluster, request, number)
    if status != 200:
        return status, headers, found
    if what == "retry":
        return submit(cluster, replace(request, body=json.dumps(found["spec"]).encode()))
    if what in ("spec", "rollback"):
        found = found | {"warnings": cluster.warnings, "changes": cluster.changes}
    if what in ("scale", "restart", "spec", "rollback"):
        return 200 if found.get("unchanged") else 202, headers, found
    return 202, headers, {"id": found["id"], "asked": what}


def act(cluster: Cluster, request: Request) -> Answer:
    asked = json.loads(request.body)["jobs"]
    there = {j["id"] for j in cluster.jobs}
    refused = {n: "" if n in there else f"there is no job {n} that you may see" for n in asked}
    results = [{"job": n, "accepted": not why, "refused": why} for n, why in refused.items()]
    return 202, {}, {"accepted": len(there & set(asked)), "results": results}


ROUTES: list[tuple[str, Callable[..., Answer]]] = [
    (r"POST /jobs", submit),
    (r"POST /jobs/bulk", bulk),
    (r"POST /jobs/validate", check),
    (r"GET /jobs", lambda cluster, request: page(cluster.jobs, request)),
    (r"GET /jobs/(\d+)", job),
    (r"GET /jobs/(\d+)/explain", explain),
    (r"POST /jobs/actions", act),
    (r"POST /jobs/(\d+)/(kill|retry|priority|scale|restart)", changed),
    (r"PUT /jobs/(\d+)/(spec)", changed),
    (r"POST /jobs/(\d+)/(rollback)", changed),
    (r"GET /jobs/(\d+)/usage", usage),
    (r"GET /jobs/(\d+)/receivers", lambda cluster, request, _job: page(cluster.told, request)),
    (r"GET /jobs/(\d+)/events", lambda cluster, request, _job: page(events(cluster, request), request)),
    (r"GET /jobs/(\d+)/revisions", lambda cluster, request, _job: page(cluster.revisions, request)),
    (r"GET /jobs/(\d+)/tasks", tasks),
    (r"GET /jobs/(\d+)/containers", containers),
    (r"GET /jobs/(\d+)/endpoints", lambda cluster, request, _job: page(cluster.endpoints, request)),
    (
        r"GET /jobs/(\d+)/outputs",
        lambda cluster, request, _job: page([said_by_the_api(Output, **o) for o in cluster.outputs], request),
    ),
    (r"GET /schedules", schedules),
    (r"GET /schedules/(\d+)", schedule),
    (r"GET /containers/([^/]+)/logs", logs),
    (r"GET /containers/([^/]+)/logs/merged", merged_logs),
    (r"PUT /artifacts/([0-9a-f]{64})", put_artifact),
    (r"(?:GET|HEAD) /artifacts/([0-9a-f]{64})", get_artifact),
    (r"GET /artifacts", kept),
    (r"DELETE /artifacts/([0-9a-f]{64})", delete_artifact),
    (r"POST /auth/logout", lambda cluster, request: (204, {}, None)),
    (r"GET /nodes", nodes),
    (r"GET /nodes/(\d+)", node),
    (r"POST /nodes/(\d+)/decommission", node),
    (r"GET /nodes/(\d+)/containers", node_containers),
    (r"GET /overview", lambda cluster, request: (200, {}, said_by_the_api(Overview, **cluster.overview))),
    (r"GET /me", lambda cluster, request: (200, {}, said_by_the_api(Me, username="ada", role="tenant"))),
    (r"GET /queues", lambda cluster, request: (200, {}, [said_by_the_api(Queue, path="root", pending=3)])),
]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    known = Cluster()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"cluster": known}))
    server.daemon_threads = True
    known.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def env(cluster: Any, tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "HYDRA_URL": cluster.url,
        "HYDRA_TOKEN": "secret-token",
    }  # fmt: skip
