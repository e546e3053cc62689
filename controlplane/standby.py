"""A worker takes free posts by itself: it looks at the lease rows twice a second, and asks nobody but the StateStore.

Offers by message are quicker where a leader resigns, and reach whoever is idle.
But a broker that is down, full or hung must never be why a sub-cluster has no
leader. Who looks first leads: the lease row takes one holder.
"""

import threading
import time
from collections.abc import Callable
from functools import partial

import psycopg
import structlog
from django.db import DatabaseError, close_old_connections, connections

from controlplane import shutdown
from controlplane.gpg.tasks import lead as lead_gpg
from controlplane.rm.tasks import lead, read_ahead, terms
from controlplane.statestore import posts
from controlplane.statestore.membership import own_name

log = structlog.get_logger(__name__)
LOOK_EVERY_S = 0.5
AHEAD_EVERY_S = 10.0
AHEAD_SOON_S = 1.0  # while jobs come
CONTROL = "control"  # the queue whose workers have the GPG's post


class Standby:
    """serves: whether this worker takes what comes by this queue. Each post that it takes has a thread of its own."""

    def __init__(self, serves: Callable[[str], bool], every_s: float = LOOK_EVERY_S) -> None:
        self.serves, self.every_s = serves, every_s
        self._held: dict[str, threading.Thread] = {}

    def start(self) -> None:
        threading.Thread(target=self._watch, name="standby", daemon=True).start()
        threading.Thread(target=self._read_ahead, name="ahead", daemon=True).start()

    def _read_ahead(self) -> None:
        """Have most of what a take-over reads before there is one."""
        more = True
        while not shutdown.requested.wait(AHEAD_SOON_S if more else AHEAD_EVERY_S):
            try:
                close_old_connections()
                more = read_ahead(self.serves)
            except (DatabaseError, psycopg.Error) as problem:
                log.warning("could not read ahead", problem=str(problem))
                more = False
        connections.close_all()

    def _watch(self) -> None:
        while not shutdown.requested.is_set():
            try:
                close_old_connections()
                self.look()
            except DatabaseError as problem:
                log.warning("could not look for free posts", problem=str(problem))
            except Exception:
                log.exception("could not look for free posts")
            shutdown.requested.wait(self.every_s)
        connections.close_all()

    def look(self) -> None:
        """Take what is free now; returns at once. Raises ``DatabaseError``."""
        self._held = {post: thread for post, thread in self._held.items() if thread.is_alive()}
        for sub, name in posts.free(own_name()):
            if self.serves(f"rm.{name}") and len(self._held) < terms.most and terms.may_lead(sub):
                self._take(f"rm.{name}", partial(lead, sub))
        if self.serves(CONTROL) and posts.gpg_is_free():
            self._take(posts.GPG, lead_gpg)

    def _take(self, post: str, serve: Callable[[], None]) -> None:
        if post not in self._held:
            thread = self._held[post] = threading.Thread(target=_serve, args=(post, serve), name=post, daemon=True)
            thread.start()

    def join(self, timeout_s: float) -> None:
        """Wait until all posts are given up, after ``shutdown.requested``; those that are not run out by themselves."""
        until = time.monotonic() + timeout_s
        for thread in list(self._held.values()):
            thread.join(max(0.0, until - time.monotonic()))


def _serve(post: str, serve: Callable[[], None]) -> None:
    try:
        serve()
    except Exception:
        log.exception("a post was given up", post=post)
    finally:
        connections.close_all()
