"""What a topic shows to one account: the very reads behind the REST views, so rights are the same.

``Reader`` shares one read among the sockets of an account and keeps the
number of threads that wait for the store small: a store that hangs holds up
those threads and nothing else.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db import DatabaseError, InterfaceError, close_old_connections
from rest_framework.utils.encoders import JSONEncoder

from controlplane.accounts.models import User
from controlplane.statestore.queries import federation, jobs, tasks
from controlplane.statestore.queries.jobs import STATES, JobFilter
from controlplane.statestore.queries.paging import Cursor, Page

from .topics import Topic

API = "/api/v1"
JOBS_SIZE = 50
TASKS_SIZE = 200
NODES_SIZE = 1000
NODES_MAX = 20_000  # beyond this the map is cut off and says so
READ_TIMEOUT_S = 5.0
THREADS = 4
_NODE_BRIEF = (
    "id",
    "name",
    "sub_cluster",
    "rack",
    "state",
    "health",
    "capacity",
    "allocated",
    "used",
    "containers",
    "last_seen_s",
    "duty",
    "drained",
    "maintenance",
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``body`` is JSON text; equal ``digest`` means nothing has changed."""

    body: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Refusal:
    """The topic cannot be shown. 401: no longer signed in; 404: nothing one may see; 503: the store does not answer."""

    status: int
    detail: str


def _paged(page: Page, path: str, params: dict[str, str]) -> dict[str, Any]:
    """A first page as the REST views answer it."""
    following = None
    if page.next is not None:
        following = f"{API}{path}?{urlencode(params | {'cursor': page.next.encode()})}"
    return {"results": page.results, "next": following, "previous": None}


def _job_filter(filters: dict[str, str]) -> JobFilter:
    """Filters as ``GET /jobs`` understands them; an unknown state matches nothing."""
    wanted = dict(filters)
    state = wanted.pop("state", None)
    return JobFilter(states=None if state is None else STATES.get(state, (-1,)), **wanted)


def _jobs(user: User, topic: Topic) -> dict[str, Any]:
    page = jobs.list_page(user, _job_filter(topic.filters), Cursor(), JOBS_SIZE)
    return _paged(page, "/jobs", topic.filters)


def _job(user: User, topic: Topic) -> dict[str, Any] | None:
    shown, row = jobs.detail(user, topic.job_id), jobs.find(user, topic.job_id)
    if shown is None or row is None:
        return None
    first = tasks.list_page(row, Cursor(), TASKS_SIZE)
    params = {"page_size": str(TASKS_SIZE)}
    return {"job": shown, "tasks": _paged(first, f"/jobs/{topic.job_id}/tasks", params)}


def _nodes(user: User, topic: Topic) -> dict[str, Any]:
    at: Cursor | None = Cursor()
    found: list[dict[str, Any]] = []
    while at is not None and len(found) < NODES_MAX:
        page = federation.nodes_page(user, at, NODES_SIZE)
        found += [{key: node[key] for key in _NODE_BRIEF} for node in page.results]
        at = page.next
    return {"results": found, "complete": at is None}


READS: dict[str, Callable[[User, Topic], Any]] = {
    "overview": lambda user, topic: federation.overview(user),
    "queues": lambda user, topic: {"results": federation.queues(user)},
    "nodes": _nodes,
    "jobs": _jobs,
    "job": _job,
}


def read(user_id: int, topic: Topic) -> Snapshot | Refusal:
    """Read a topic now, under the account's rights of now. Runs in a thread; never raises because of the store."""
    close_old_connections()
    try:
        user = User.objects.filter(pk=user_id, is_active=True).first()
        if user is None:
            return Refusal(401, "This account is not signed in any more.")
        value = READS[topic.kind](user, topic)
    except (DatabaseError, InterfaceError):
        return Refusal(503, "The StateStore does not answer; what is shown is the last that was known.")
    finally:
        close_old_connections()
    if value is None:
        return Refusal(404, "It does not exist, or you may not see it.")
    body = json.dumps(value, cls=JSONEncoder, separators=(",", ":"))
    return Snapshot(body, _digest(value, body))


def _digest(value: Any, body: str) -> bytes:
    """Of what matters: the time of reading alone is no change."""
    if isinstance(value, dict) and "at" in value:
        body = json.dumps(value | {"at": 0}, cls=JSONEncoder)
    return hashlib.blake2b(body.encode(), digest_size=16).digest()


class Reader:
    """Reads for all sockets of this process. Two that want the same at once share one read."""

    def __init__(self, how: Callable[[int, Topic], Snapshot | Refusal] = read) -> None:
        self._how = how
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="snapshot")
        self._running: dict[tuple[int, str], asyncio.Future[Snapshot | Refusal]] = {}

    async def get(self, user_id: int, topic: Topic) -> Snapshot | Refusal:
        """The topic as of a moment after this call, or a refusal after ``READ_TIMEOUT_S`` at the latest."""
        key = (user_id, topic.name)
        running = self._running.get(key)
        if running is None or running.get_loop() is not asyncio.get_running_loop():
            running = asyncio.get_running_loop().run_in_executor(self._pool, self._how, user_id, topic)
            self._running[key] = running
            running.add_done_callback(lambda done: self._forget(key, done))
        try:
            return await asyncio.wait_for(asyncio.shield(running), READ_TIMEOUT_S)
        except TimeoutError:
            return Refusal(503, f"The StateStore has not answered for {READ_TIMEOUT_S:.0f} s.")

    async def run(self, function: Callable[..., Any], *values: Any) -> Any:
        """Run something else that reads the store in one of these threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *values)

    def close(self) -> None:
        """End the threads and with them their connections."""
        self._pool.shutdown(wait=True)

    def _forget(self, key: tuple[int, str], done: "asyncio.Future[Snapshot | Refusal]") -> None:
        if self._running.get(key) is done:
            del self._running[key]
