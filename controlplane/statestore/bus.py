"""Redis as the StateStore's actions use it: hints that may be lost, and summaries that may be missing.

Every call is bounded to a fraction of a second, and after a failure Redis is
left alone for a moment, so that a dead or paused Redis costs a submit one
short wait and not one per request. Nothing here raises because of Redis.
"""

import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, TypeVar

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from controlplane.statestore import nodeloads
from scheduler.shares.tree import lineage
from wire import desired, keys, status, summary
from wire.summary import Summary

log = structlog.get_logger(__name__)
T = TypeVar("T")

TIMEOUT_S = 0.1
REST_S = 1.0  # no further attempt for this long after a failure


class Breaker:
    """Lets calls through until one fails, then refuses for ``rest_s``."""

    def __init__(self, rest_s: float = REST_S) -> None:
        self._rest_s = rest_s
        self._closed_at = 0.0
        self._lock = threading.Lock()

    def open(self) -> bool:
        return time.monotonic() >= self._closed_at

    def failed(self) -> None:
        with self._lock:
            self._closed_at = time.monotonic() + self._rest_s


breaker = Breaker()


class Sample(NamedTuple):
    """What a live container used when its node last looked."""

    memory_mib: int
    cpu_ms: int
    ran_ms: int


class Process(NamedTuple):
    """A process of the control plane, and what it last said, ``silent_s`` ago."""

    kind: str
    name: str
    facts: dict[str, str]
    silent_s: float

    @property
    def up_s(self) -> float:
        """For how long it has run, as far as it has said."""
        return float(self.facts.get("up_s", 0.0)) + self.silent_s


@lru_cache(maxsize=4)
def client(url: str = "", timeout_s: float = TIMEOUT_S) -> redis.Redis:
    """A shared client that answers or fails within ``timeout_s``; no retries."""
    return redis.Redis.from_url(
        url or settings.REDIS_URL,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 1),  # one more try: the first may meet a connection a restart has closed
        retry_on_error=[redis.ConnectionError],
    )


def replied(reply: Awaitable[T] | T) -> T:
    """What a synchronous client answers: redis-py's types leave open whether it has to be awaited."""
    assert not isinstance(reply, Awaitable)
    return reply


def attempt(call: Callable[[redis.Redis], T], otherwise: T) -> T:
    """``call`` with a client; ``otherwise`` when Redis does not answer in time or is being left alone."""
    if not breaker.open():
        return otherwise
    try:
        return call(client())
    except redis.ResponseError as error:  # of one key: Redis itself is well
        log.warning("Redis refused a command; going on without it", problem=str(error))
        return otherwise
    except redis.RedisError as error:
        breaker.failed()
        log.warning("Redis did not answer; going on without it", problem=str(error), for_s=REST_S)
        return otherwise


def _values(names: list[str]) -> list[bytes | None]:
    """What these keys hold, None for one that is missing; nothing at all when Redis does not answer."""
    nothing: list[bytes | None] = []
    return attempt(lambda r: replied(r.mget(names)), nothing) if names else nothing


def wake(sub_clusters: Iterable[int], what: str = keys.INTENTS) -> None:
    """Tell RMs to read their intents now, or ``what`` says; they also do so by themselves every second."""
    ids = sorted(set(sub_clusters))

    def send(r: redis.Redis) -> None:
        pipe = r.pipeline(transaction=False)
        for s in ids:
            pipe.zadd(keys.dirty(s), {what: 0})
        pipe.execute()

    if ids:
        attempt(send, None)


def wake_node(sub_cluster: int, node: int) -> None:
    """Tell a node that somebody waits for a command in one of its containers (``keys.EXECS``)."""
    attempt(lambda r: replied(r.publish(keys.wake_channel(sub_cluster, node), keys.EXECS)), 0)


def announce_policy(version: int) -> None:
    """Tell web processes and the GPG that a version was put in force; they also look by themselves."""
    attempt(lambda r: replied(r.publish(keys.policy_channel(), version)), 0)


_read: dict[int, tuple[bytes, Summary]] = {}  # sub-cluster number -> a summary as it was written, and read


def summaries(sub_clusters: Iterable[int]) -> dict[int, Summary]:
    """The RMs' last summaries by sub-cluster number; one that is missing or unreadable is left out.

    They are the same objects for all who ask until there are newer ones: nobody changes them.
    """
    ids = sorted(set(sub_clusters))
    raw = _values([keys.summary(s) for s in ids])
    found = {}
    for s, data in zip(ids, raw, strict=False):
        value = _summary(s, data) if data is not None else None
        if value is not None:
            found[s] = value
    return found


def waiting(told: Iterable[Summary]) -> dict[str, int]:
    """How many containers wait in each queue and below it. Summaries tell it of the queue itself."""
    found: dict[str, int] = {}
    for each in told:
        for path, use in each.queues.items():
            for above in lineage(path) if use.pending else ():
                found[above] = found.get(above, 0) + use.pending
    return found


def _summary(s: int, data: bytes) -> Summary | None:
    known = _read.get(s)
    if known is not None and known[0] == data:
        return known[1]
    try:
        value = summary.decode(data)
    except summary.SummaryError:
        return None
    _read[s] = data, value
    return value


def node_loads(sub_clusters: Iterable[int]) -> dict[int, nodeloads.NodeLoads]:
    """What the RMs last said of their nodes, by sub-cluster number; what is missing or unreadable is left out."""
    ids = sorted(set(sub_clusters))
    raw = _values([keys.nodes(s) for s in ids])
    found = {s: nodeloads.decode(data) for s, data in zip(ids, raw, strict=False) if data is not None}
    return {s: loads for s, loads in found.items() if loads is not None}


def held(sub_cluster: int, node: int) -> list[int] | None:
    """Containers that a node is to hold or says it holds; ``None`` when neither is known."""
    document, told = _values([keys.desired(sub_cluster, node), keys.status(sub_cluster, node)]) or (None, None)
    if document is None and told is None:
        return None
    found = set(desired.wanted(document or b""))
    try:
        found |= {report.container_id for report in status.decode(told).containers} if told else set()
    except status.StatusError:
        pass
    return sorted(found)


def usage(sub_cluster: int, container_ids: list[int]) -> dict[int, Sample]:
    """Last samples of live containers, by their numbers."""
    if not container_ids:
        return {}
    nothing: list[bytes | None] = []
    raw = attempt(lambda r: replied(r.hmget(keys.usage(sub_cluster), [str(c) for c in container_ids])), nothing)
    samples = {}
    for cid, data in zip(container_ids, raw, strict=False):
        parts = data.split(b",") if data else []
        if len(parts) == 3 and all(p.isdigit() for p in parts):
            samples[cid] = Sample(*map(int, parts))
    return samples


def clock(r: redis.Redis) -> float:
    """Seconds since 1970 by Redis' own clock."""
    seconds, microseconds = replied(r.time())
    return float(seconds) + float(microseconds) / 1e6


def processes() -> list[Process] | None:
    """Each process of the last hour, by kind and name; None when Redis does not answer.

    One that has said nothing for a while has no facts.
    """

    def ask(r: redis.Redis) -> list[Process]:
        told = replied(r.zrange(keys.components(), -1000, -1, withscores=True))
        members, now = sorted((member.decode().split(":", 1), at) for member, at in told), clock(r)
        pipe = r.pipeline(transaction=False)
        for (kind, name), _ in members:
            pipe.hgetall(keys.component(kind, name))
        said = [{k.decode(): v.decode() for k, v in facts.items()} for facts in pipe.execute()]
        return [
            Process(kind, name, facts, max(0.0, now - at))
            for ((kind, name), at), facts in zip(members, said, strict=True)
        ]

    return attempt(ask, None)
