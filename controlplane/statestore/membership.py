"""Who leads a sub-cluster: an epoch lease in Postgres, timed by the database's clock.

The epoch rises only with a new holder. A successor first ends the database
session of its predecessor, so that a stopped leader cannot block it; after
that every write of the old epoch fails at the fence.
"""

from dataclasses import dataclass

import psycopg
from django.conf import settings
from psycopg.conninfo import make_conninfo

FENCED = "HY001"  # SQLSTATE of statestore_fence

_TAKE = """
UPDATE statestore_lease
   SET epoch = epoch + 1, holder = %(holder)s, backend_pid = pg_backend_pid(),
       expires_at = clock_timestamp() + make_interval(secs => %(lease_s)s)
 WHERE sub_cluster_id = %(sub)s AND epoch = %(epoch)s
   AND (expires_at IS NULL OR expires_at < clock_timestamp())
RETURNING epoch
"""
_FREE = """
SELECT epoch, backend_pid FROM statestore_lease
 WHERE sub_cluster_id = %s AND (expires_at IS NULL OR expires_at < clock_timestamp())
"""
_EVICT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND application_name = %s"


@dataclass(slots=True)
class Leadership:
    """The right to write one sub-cluster's rows, while the lease lasts; ``connection`` is its only session."""

    sub_cluster_id: int
    epoch: int
    holder: str
    connection: psycopg.Connection

    def release(self) -> None:
        """Give the post up, so that a standby need not wait for the lease to run out."""
        if self.connection.closed:
            return
        try:
            self.connection.rollback()
            self.connection.execute(
                "UPDATE statestore_lease SET expires_at = clock_timestamp() WHERE sub_cluster_id = %s AND epoch = %s",
                (self.sub_cluster_id, self.epoch),
            )
        except psycopg.Error:
            pass  # the lease runs out by itself
        finally:
            self.connection.close()


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
        # A session whose server is gone must end in seconds, not when TCP gives up.
        keepalives_idle=5,
        keepalives_interval=2,
        keepalives_count=3,
        tcp_user_timeout=10_000,
        **db.get("OPTIONS", {}),
    )


def _name(sub_cluster_id: int, epoch: int) -> str:
    return f"rm:{sub_cluster_id}:{epoch}"


def take(sub_cluster_id: int, holder: str, lease_s: float) -> Leadership | None:
    """Lead the sub-cluster, if nobody does; None when somebody does. Raises ``psycopg.Error``."""
    connection = psycopg.connect(conninfo("rm:standby"), autocommit=True)
    try:
        free = connection.execute(_FREE, (sub_cluster_id,)).fetchone()
        if free is not None:
            epoch, predecessor = free
            connection.execute(_EVICT, (predecessor, _name(sub_cluster_id, epoch)))
            values = {"holder": holder, "lease_s": lease_s, "sub": sub_cluster_id, "epoch": epoch}
            row = connection.execute(_TAKE, values).fetchone()
            if row is not None:
                connection.execute(f"SET application_name = '{_name(sub_cluster_id, row[0])}'")
                return Leadership(sub_cluster_id, row[0], holder, connection)
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None
