"""A process follows the policy in force: takes each version in within milliseconds of its push, and says so.

One thread per process. A hint on a Redis channel wakes it; without Redis it
looks every second. What it says is a row that expires with the process.
"""

import threading
import time
from collections.abc import Callable

import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from controlplane import events, shutdown
from controlplane.statestore import acknowledgements
from wire import keys

log = structlog.get_logger(__name__)

LOOK_S = 1.0  # without any hint
RENEW_S = 4.0  # the row, so that it does not expire
_ACTIVE = """
SELECT id, (extract(epoch FROM activated_at) * 1e6)::bigint FROM statestore_policyversion WHERE active
"""


class Follower:
    """Follows for one process. kind, name: of its row. take_in: called with each new version; may raise what Django's
    database layer raises, and is then called again."""

    def __init__(self, kind: str, name: str, take_in: Callable[[int], object]):
        self.kind, self.name = kind, name
        self._take_in = take_in
        self._version: int | None = None  # as taken in
        self._acknowledged_at = -1e9
        self._hints: redis.client.PubSub | None = None

    def start(self) -> None:
        """Follow in a thread of its own until the process ends."""
        threading.Thread(target=self.run, name="policy", daemon=True).start()

    def run(self, stop: threading.Event = shutdown.requested) -> None:
        while not stop.is_set():
            self.look()
            self._wait(stop)
        connection.close()

    def look(self) -> None:
        """Take in and acknowledge what is new; what fails now is done at the next look."""
        try:
            close_old_connections()
            self._look()
        except (DatabaseError, InterfaceError) as error:
            log.debug("the policy in force cannot be read", problem=str(error))

    def _look(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_ACTIVE)
            version, pushed_us = cursor.fetchone() or (0, 0)
        new = version != self._version
        if new:
            self._take_in(version)
        if not new and time.monotonic() - self._acknowledged_at < RENEW_S:
            return
        with connection.cursor() as cursor:
            if self._version is None:
                acknowledgements.forget(cursor, self.kind, self.name)
            acknowledgements.put(cursor, self.kind, self.name, version, pushed_us or 0)
        self._version, self._acknowledged_at = version, time.monotonic()
        if new:
            events.hint("policy")

    def _wait(self, stop: threading.Event) -> None:
        """Until a hint comes, at most ``LOOK_S``."""
        try:
            if self._hints is None:
                client = redis.Redis.from_url(
                    settings.REDIS_URL, socket_timeout=2 * LOOK_S, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0)
                )
                self._hints = client.pubsub(ignore_subscribe_messages=True)
                self._hints.subscribe(keys.policy_channel())
                self._hints.get_message(timeout=LOOK_S)  # the subscription's own answer
                return  # look once more: what was published before this moment was missed
            self._hints.get_message(timeout=LOOK_S)
        except (redis.RedisError, OSError) as error:
            log.debug("no hints of new policies", problem=str(error))
            self._hints = None
            stop.wait(LOOK_S)
