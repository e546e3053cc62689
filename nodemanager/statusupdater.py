"""The node's word to its RM: the complete status, at once when there is news and else with every heartbeat."""

from collections.abc import Callable
from typing import Any

import hiredis

from nodemanager import events as ev
from nodemanager.checkpoint import Checkpoint
from nodemanager.core import Core
from nodemanager.log import note
from nodemanager.membership import Membership
from nodemanager.redisconnection import RedisConnection
from nodemanager.usage import CpuRates
from wire import keys, status

COALESCE_S = 0.02  # least time between two statuses


class StatusUpdater:
    """Publishes to Redis. ``dispatch``: told of contact, which is a status that Redis has taken: a Redis that can only
    be read tells this node what it should hold, and nobody what it holds. Times are seconds of the monotonic clock."""

    def __init__(
        self,
        redis: RedisConnection,
        core: Core,
        membership: Membership,
        checkpoint: Checkpoint,
        rates: CpuRates,
        dispatch: Callable[[ev.Event], None],
    ) -> None:
        self.redis, self.core, self.membership = redis, core, membership
        self.checkpoint, self.rates, self.dispatch = checkpoint, rates, dispatch
        self.changed = False
        self.published_at = self.heartbeat_at = 0.0  # the last status; when the next is due without news

    def request_publish(self, news: ev.PublishStatus) -> None:
        """The status has changed; patient news wait for the next heartbeat."""
        self.changed |= not news.patient

    def publish_soon(self) -> None:
        """A connection is there: whoever reads statuses has waited for one."""
        self.heartbeat_at = 0.0

    def due(self) -> float:
        """When ``tick`` has something to do; news hasten it only while somebody can be told."""
        hasty = self.changed and self.redis.ready
        return min(self.heartbeat_at, self.published_at + COALESCE_S) if hasty else self.heartbeat_at

    def tick(self, now: float) -> None:
        """Publish if it is time; any status is a heartbeat."""
        if now >= self.due():
            self.heartbeat_at = now + self.membership.heartbeat_s
            self.publish(now)

    def publish(self, now: float) -> None:
        """The complete status, when there is a connection."""
        if not self.redis.ready:
            return
        seq = self.checkpoint.next_seq()
        data = status.encode(self.core.status(seq, self.rates.total()))
        s, n = self.membership.session.sub_cluster_id, self.membership.session.node_id
        self.redis.send(lambda answer: self._published(answer, now), "SET", keys.status(s, n), data)
        if self.changed:
            self.redis.send(self._hinted, "ZADD", keys.dirty(s), "0", str(n))
        self.changed = False
        self.published_at = now

    def _published(self, answer: Any, sent_at: float) -> None:
        if not _refused(answer):
            self.dispatch(ev.Contact(sent_at))

    def _hinted(self, answer: Any) -> None:
        _refused(answer)


def _refused(answer: Any) -> bool:
    refused = isinstance(answer, hiredis.ReplyError)
    if refused:
        note("warning", "Redis refused the status", why=str(answer))
    return refused
