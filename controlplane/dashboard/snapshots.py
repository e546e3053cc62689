"""What a topic shows to one account: the very reads behind the REST views, so rights are the same."""

import hashlib
import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import rules
from django.db import DatabaseError, InterfaceError, connection
from rest_framework.utils.encoders import JSONEncoder

from controlplane.accounts.models import User
from controlplane.accounts.rights import access, accounts, is_tenant, sees_everything
from controlplane.statestore.queries.federation.overview import overview
from controlplane.statestore.queries.jobs import endpoints, stamps, tasks
from controlplane.statestore.queries.jobs import listing as jobs
from controlplane.statestore.queries.jobs.listing import STATES, JobFilter
from controlplane.statestore.queries.looks import Look, looking, shared, together
from controlplane.statestore.queries.moments import read_moment
from controlplane.statestore.queries.nodes import containers, fleet
from controlplane.statestore.queries.nodes import listing as nodes
from controlplane.statestore.queries.nodes.fleet import Fleet
from controlplane.statestore.queries.paging import Cursor, Page
from controlplane.statestore.queries.policy import rollouts
from controlplane.statestore.queries.queues import live as queues
from controlplane.statestore.queries.queues.matrix import matrix

from .kept import Kept
from .topics import Topic

API = "/api/v1"
JOBS_SIZE = 50
TASKS_SIZE = stamps.TASKS - 1
ENDPOINTS_SIZE = 50
CONTAINERS_SIZE = 200


@dataclass(frozen=True, slots=True)
class TopicSnapshot:
    """``body`` is JSON text; equal ``digest`` means nothing has changed. own: it holds the account's own jobs only."""

    body: str
    digest: bytes
    own: bool = False


@dataclass(frozen=True, slots=True)
class TopicRefusal:
    """The topic cannot be shown. 401: no longer signed in; 404: nothing one may see; 503: the store does not answer."""

    status: int
    detail: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read what costs much. Under an equal ``stamp`` an account would find what it found before."""

    stamp: Hashable
    read: Callable[[], Any]


def _paged(page: Page, path: str, params: dict[str, str]) -> dict[str, Any]:
    """A first page as the REST views answer it."""
    following = None
    if page.next is not None:
        following = f"{API}{path}?{urlencode(params | {'cursor': page.next.encode()})}"
    return {"results": page.results, "next": following, "previous": None}


def _job_filter(filters: dict[str, str]) -> JobFilter:
    """Filters as ``GET /jobs`` understands them; an unknown state or time matches nothing."""
    texts = {name: text for name, text in filters.items() if name not in ("state", "since", "until", "order")}
    times: dict[str, Any] = {name: read_moment(filters[name]) for name in ("since", "until") if name in filters}
    named: dict[str, Any] = {**texts, **times}
    states = STATES.get(filters["state"], (-1,)) if "state" in filters else None
    return JobFilter(states=(-1,) if None in times.values() else states, **named)


def _jobs(user: User, topic: Topic) -> Reading:
    oldest = topic.filters.get("order") == "oldest"
    ids = jobs.visible_ids(user, _job_filter(topic.filters), Cursor(), JOBS_SIZE, oldest)
    read = lambda: _paged(jobs.page_of(user, ids, Cursor(), JOBS_SIZE), "/jobs", topic.filters)  # noqa: E731
    return Reading((tuple(ids), stamps.listed(ids)), read)


def _job(user: User, topic: Topic) -> Reading | None:
    found = stamps.job(topic.number)
    if found is None or not rules.has_perm("jobs.view", user, found):
        return None
    return Reading(found, lambda: _whole_job(user, topic))


def _whole_job(user: User, topic: Topic) -> dict[str, Any] | None:
    shown, row = jobs.detail(user, topic.number), jobs.find(user, topic.number)
    if shown is None or row is None:
        return None
    first = tasks.list_page(row, Cursor(), TASKS_SIZE)
    params = {"page_size": str(TASKS_SIZE)}
    serving = endpoints.list_page(row, Cursor(), ENDPOINTS_SIZE)
    return {
        "job": shown,
        "tasks": _paged(first, f"/jobs/{topic.number}/tasks", params),
        "endpoints": _paged(serving, f"/jobs/{topic.number}/endpoints", {"page_size": str(ENDPOINTS_SIZE)}),
    }


def _matrix(user: User, topic: Topic) -> dict[str, Any] | None:
    filters = dict(topic.filters)
    skip = filters.pop("skip", "0")
    if not (skip.isascii() and skip.isdigit() and len(skip) < 8):
        return None
    return matrix(user, **filters, skip=int(skip))


def _node(user: User, topic: Topic) -> dict[str, Any] | None:
    node = nodes.one(user, topic.number)
    if node is None:
        return None
    found = containers.list_page(user, topic.number, Cursor(), CONTAINERS_SIZE)
    path = f"/nodes/{topic.number}/containers"
    return {"node": node, "containers": _paged(found, path, {"page_size": str(CONTAINERS_SIZE)})}


READS: dict[str, Callable[[User, Topic], Any]] = {
    "overview": lambda user, topic: overview(user),
    "policy": lambda user, topic: rollouts.overview() if sees_everything(user) else None,
    "queues": lambda user, topic: Reading(queues.layout_stamp(user), lambda: queues.layout(user)),
    "queueuse": lambda user, topic: queues.use(user, **topic.filters),
    "queuematrix": _matrix,
    "jobs": _jobs,
    "job": _job,
    "node": _node,
}


# What these show to those who see everything is the same for all of a role.
ALIKE = frozenset({"overview", "policy", "queues", "queueuse", "queuematrix", "jobs", "job"})
Result = TopicSnapshot | Fleet | TopicRefusal
_kept: Kept[TopicSnapshot | TopicRefusal] = Kept()


def read(user_id: int, topic: Topic, look: Look) -> Result:
    """A topic under the account's rights, as ``look`` finds it. Runs in a thread; never raises because of the store."""
    for _ in range(2):
        try:
            with looking(look):
                return _read(user_id, topic)
        except (DatabaseError, InterfaceError):
            connection.close()  # a restart of the store may have broken it: once more with another
    return TopicRefusal(503, "The StateStore does not answer; what is shown is the last that was known.")


def _read(user_id: int, topic: Topic) -> Result:
    user = _account(user_id)
    if user is None:
        return TopicRefusal(401, "This account is not signed in any more.")
    if topic.kind == "fleet":
        return fleet.look(user)
    if topic.kind in ALIKE and sees_everything(user):
        return _alike(user.role, topic)
    return _snapshot(user, topic)


_account = together("accounts")(accounts)


@shared
def _alike(role: str, topic: Topic) -> TopicSnapshot | TopicRefusal:
    """For everybody of a role that sees everything."""
    return _snapshot(User(role=role, is_active=True), topic)


def _snapshot(user: User, topic: Topic) -> TopicSnapshot | TopicRefusal:
    value = READS[topic.kind](user, topic)
    if isinstance(value, Reading):
        own = topic.kind == "jobs" and bool(is_tenant(user)) and not access(user)
        rights = () if sees_everything(user) else tuple(sorted(access(user).items()))
        return _kept.get((user.pk, user.role, topic.name), (rights, value.stamp), lambda: _encoded(value.read(), own))
    return _encoded(value)


def _encoded(value: Any, own: bool = False) -> TopicSnapshot | TopicRefusal:
    """The time of reading alone is no change: the digest leaves it out."""
    if value is None:
        return TopicRefusal(404, "It does not exist, or you may not see it.")
    timed = isinstance(value, dict) and "at" in value
    rest = _json({name: v for name, v in value.items() if name != "at"} if timed else value)
    body = f'{{"at":{_json(value["at"])},{rest[1:]}' if timed else rest
    return TopicSnapshot(body, hashlib.blake2b(rest.encode(), digest_size=16).digest(), own)


def _json(value: Any) -> str:
    return json.dumps(value, cls=JSONEncoder, separators=(",", ":"))
