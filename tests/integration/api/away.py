"""A StateStore that has gone away, and comes back."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def no_connections() -> Iterator[None]:
    """Postgres ends those to this database, but for ours, and takes no more of them for as long as this lasts."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            kill_connections()
            yield
        finally:
            cursor.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def kill_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            [connection.settings_dict["NAME"]],
        )
