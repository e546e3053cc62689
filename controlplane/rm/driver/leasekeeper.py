"""Extends the leases of leaders whose work takes long: no rebuild and no round is lost for outlasting a lease.

Without it a machine with too much to do would end its leaders, and what their
successors read to begin with would be still more to do. One thread of a worker
process does it for all that lead there. It steps in for a leader that has not
renewed by itself for half a lease, and ``PATIENCE`` leases long at most: who gets
nowhere is replaced. A process that is stopped or killed takes its keeper along.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import structlog

from controlplane.rm.ports import Clock
from controlplane.statestore.membership import FENCED, Leadership, conninfo

log = structlog.get_logger(__name__)

PATIENCE = 10  # leases


class LeaseKeeper:
    """lease_s: how long a lease lasts from each renewal. clock: the one by which leaders note their renewals."""

    def __init__(self, lease_s: float, clock: Clock) -> None:
        self.lease_s, self.clock = lease_s, clock
        self._kept: dict[int, tuple[Leadership, float]] = {}  # by sub-cluster, with when it was extended here
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._session: psycopg.Connection | None = None

    @contextmanager
    def keeping(self, leadership: Leadership) -> Iterator[None]:
        """Look after this lease until the block ends; from then on nothing here extends it."""
        sub = leadership.sub_cluster_id
        with self._lock:
            alone = not self._kept
            self._kept[sub] = leadership, 0.0
            if alone:
                self._idle = threading.Event()
                threading.Thread(target=self._run, args=(self._idle,), name="keeper", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._kept.pop(sub, None)
                if not self._kept:
                    self._idle.set()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(self.lease_s / 4):
            with self._lock:
                for sub in self._late(self.clock.monotonic()):
                    self._extend(sub)
        with self._lock:
            if ended is self._idle:
                self._disconnect()

    def _late(self, now: float) -> list[int]:
        """Sub-clusters whose leaders have not renewed for half a lease, but within our patience."""
        return [
            sub
            for sub, (leadership, extended_at) in self._kept.items()
            if now - max(leadership.renewed_at, extended_at) >= self.lease_s / 2
            and now - leadership.renewed_at < PATIENCE * self.lease_s
        ]

    def _extend(self, sub: int) -> None:
        leadership, _ = self._kept[sub]
        try:
            if self._session is None:
                self._session = psycopg.connect(conninfo("rm:keeper"), autocommit=True)
            words = (sub, leadership.epoch, self.lease_s)
            self._session.execute("SELECT statestore_fence(%s::smallint, %s, %s)", words)
            self._kept[sub] = leadership, self.clock.monotonic()
        except psycopg.Error as error:
            if error.sqlstate == FENCED:
                self._kept[sub] = leadership, math.inf  # the leader learns it from its next write
            else:
                log.warning("a lease could not be extended", sub_cluster=sub, error=str(error))
                self._disconnect()

    def _disconnect(self) -> None:
        if self._session is not None:
            with suppress(psycopg.Error):
                self._session.close()
            self._session = None
