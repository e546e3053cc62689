"""What time it is by the database, whatever the clock of this machine says.

Rows are stamped by the database, and by leaders that go by its clock. Whoever writes a time that others compare, or
compares one with such a row, asks here: hosts may disagree by an hour, and nothing ends early or stays too long.
"""

import datetime as dt
import time

import psycopg
from django.db import DatabaseError, connection

ASKED_EVERY_S = 60.0  # the monotonic clocks of two hosts part by some milliseconds meanwhile
ASKED_AGAIN_S = 1.0  # where it has not answered
_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"


class _Carried:
    """The database's clock, carried on by this machine's monotonic one. offset_s: unix minus monotonic, once known."""

    def __init__(self) -> None:
        self.offset_s: float | None = None
        self._due_s = 0.0

    def unix(self) -> float:
        at = time.monotonic()
        if at >= self._due_s:
            self._ask(at)
        return self.told(at)

    def told(self, at: float) -> float:
        return time.time() if self.offset_s is None else at + self.offset_s

    def _ask(self, at: float) -> None:
        """A process's requests share the answer. It is taken for that of the moment before the question: never late."""
        self._due_s = at + ASKED_AGAIN_S
        try:
            connection.ensure_connection()
            row = connection.connection.execute(_NOW).fetchone()  # a statement beside those that requests count
        except (DatabaseError, psycopg.Error):
            return  # carried on as it was; in a transaction that has failed nothing can be asked
        self.offset_s, self._due_s = float(row[0]) - at, at + ASKED_EVERY_S


_carried = _Carried()


def known() -> bool:
    """Whether the database has said."""
    _carried.unix()
    return _carried.offset_s is not None


def unix() -> float:
    """Seconds since 1970. Before the database has answered once, and only then, by this machine's clock."""
    return _carried.unix()


def carried() -> float:
    """The same without asking the database, for whoever may not wait: by what others of the process were told."""
    return _carried.told(time.monotonic())


def now() -> dt.datetime:
    """The same as a time with its zone, UTC."""
    return dt.datetime.fromtimestamp(unix(), dt.UTC)
