"""Who leads a sub-cluster, and who has a post of which there is one: epoch leases in Postgres, timed by its clock.

The epoch rises only with a new holder, above all that may be in use. A successor first ends the database
session of its predecessor, so that a stopped leader cannot block it; after
that every write of the old epoch fails at the fence.

A sub-cluster is also free when the session of its holder has ended, as it does
when its process dies: a holder writes through that one alone, so it leads no more.
"""

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
from django.conf import settings
from psycopg.conninfo import make_conninfo

FENCED = "HY001"  # SQLSTATE of the fences
# Of the lease ``l`` of a sub-cluster: nobody leads, and ``holder`` may. Another session may get the number of one that
# has ended; then the lease runs out. Whoever comes back under the name of a leader that died has nothing ready, and
# leaves the post to others until then.
FREE = """(l.expires_at IS NULL OR l.expires_at < clock_timestamp()
    OR (l.holder <> %(holder)s AND l.backend_pid > 0
        AND NOT EXISTS (SELECT FROM pg_stat_get_activity(l.backend_pid))))"""

_EVICT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND application_name = %s"


@dataclass(frozen=True, slots=True)
class _Leases:
    """One kind of lease rows. free: SQL, whether nobody holds row ``l`` and ``holder`` may. exists: the same, whether
    it may be held at all.

    name: of a holder's session.
    """

    table: str
    key: str
    free: str
    exists: str
    name: str

    @property
    def look(self) -> str:
        return f"""
            SELECT epoch, backend_pid FROM {self.table} l WHERE {self.key} = %(key)s AND {self.free} AND {self.exists}
        """

    @property
    def take(self) -> str:
        return f"""
            UPDATE {self.table} l
               SET epoch = greatest(epoch, %(given_out)s) + 1, holder = %(holder)s, backend_pid = pg_backend_pid(),
                   expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s)
             WHERE {self.key} = %(key)s AND epoch = %(epoch)s AND {self.free}
            RETURNING epoch
        """

    @property
    def release(self) -> str:
        return f"UPDATE {self.table} SET expires_at = clock_timestamp() WHERE {self.key} = %s AND epoch = %s"


_OF_SUB_CLUSTERS = _Leases(
    "statestore_lease",
    "sub_cluster_id",
    FREE,
    "EXISTS (SELECT FROM statestore_subcluster s WHERE s.id = l.sub_cluster_id AND s.state <> 'decommissioned')",
    "rm",
)
_OF_DUTIES = _Leases(
    "statestore_dutylease", "name", "(l.expires_at IS NULL OR l.expires_at < clock_timestamp())", "true", "post"
)


@dataclass(slots=True)
class _Held:
    """A lease in one's hands; ``connection`` is its holder's only session."""

    epoch: int
    holder: str
    connection: psycopg.Connection

    def _release(self, leases: _Leases, key: int | str) -> None:
        if self.connection.closed:
            return
        try:
            self.connection.rollback()
            self.connection.execute(leases.release, (key, self.epoch))
        except psycopg.Error:
            pass  # the lease runs out by itself
        finally:
            self.connection.close()


@dataclass(slots=True)
class Leadership(_Held):
    """The right to write one sub-cluster's rows, while the lease lasts.

    renewed_at: when its holder last extended it, ``time.monotonic()``.
    """

    sub_cluster_id: int
    renewed_at: float = field(default_factory=time.monotonic)

    def release(self) -> None:
        """Give the post up, so that a standby need not wait for the lease to run out."""
        self._release(_OF_SUB_CLUSTERS, self.sub_cluster_id)


@dataclass(slots=True)
class Post(_Held):
    """The right to do what only one in the federation does, while the lease lasts."""

    name: str

    def release(self) -> None:
        """Give the post up, so that a standby need not wait for the lease to run out."""
        self._release(_OF_DUTIES, self.name)

    def fence(self, lease_s: float) -> None:
        """Extend the lease, within a transaction or alone; ``psycopg.Error`` with ``FENCED`` when another has it."""
        self.connection.execute("SELECT statestore_fence_duty(%s, %s, %s)", (self.name, self.epoch, lease_s))


def own_name() -> str:
    """By which this process holds what it leads."""
    return os.environ.get("HYDRA_WORKER") or socket.gethostname()


def conninfo(application: str) -> str:
    """A libpq connection string for the default database."""
    db = settings.DATABASES["default"]
    return make_conninfo(
        dbname=db["NAME"],
        user=db["USER"] or None,
        password=db["PASSWORD"] or None,
        host=db["HOST"] or None,
        port=db["PORT"] or None,
        application_name=application,
        **db.get("OPTIONS", {}),
    )


def take(sub_cluster_id: int, holder: str, lease_s: float, given_out: Callable[[int], int] = int) -> Leadership | None:
    """Lead the sub-cluster, if nobody does; None when somebody does. Raises ``psycopg.Error``.

    given_out: the highest epoch that may be in use, from the row's: a database may have been put back to an older one.
    """
    taken = _take(_OF_SUB_CLUSTERS, sub_cluster_id, holder, lease_s, given_out)
    return Leadership(*taken, sub_cluster_id) if taken else None


def take_post(name: str, holder: str, lease_s: float) -> Post | None:
    """Take the post, if nobody has it; None when somebody has. Raises ``psycopg.Error``."""
    taken = _take(_OF_DUTIES, name, holder, lease_s)
    return Post(*taken, name) if taken else None


def _take(
    leases: _Leases, key: int | str, holder: str, lease_s: float, given_out: Callable[[int], int] = int
) -> tuple[int, str, psycopg.Connection] | None:
    connection = psycopg.connect(conninfo(f"{leases.name}:standby"), autocommit=True)
    try:
        free = connection.execute(leases.look, {"key": key, "holder": holder}).fetchone()
        if free is not None:
            epoch, predecessor = free
            connection.execute(_EVICT, (predecessor, f"{leases.name}:{key}:{epoch}"))
            values = {"holder": holder, "lease_s": lease_s, "key": key, "epoch": epoch, "given_out": given_out(epoch)}
            row = connection.execute(leases.take, values).fetchone()
            if row is not None:
                (taken,) = row
                connection.execute(f"SET application_name = '{leases.name}:{key}:{taken}'")
                return taken, holder, connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None
