"""What statements answer as the named rows of ``rm.rows``."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import psycopg

Row = TypeVar("Row", bound=NamedTuple)


def named(kind: type[Row]) -> Callable[[psycopg.Cursor[Any]], Callable[[Iterable[Any]], Row]]:
    """psycopg's row factory for ``kind``; ``TypeError`` where a statement has other columns, or in another order."""

    def factory(cursor: psycopg.Cursor[Any]) -> Callable[[Iterable[Any]], Row]:
        columns = tuple(column.name for column in cursor.description or ())
        if columns and columns != kind._fields:
            raise TypeError(f"{kind.__name__} has the fields {kind._fields}, the statement the columns {columns}")
        return kind._make

    return factory


def read(session: "psycopg.Connection[Any]", kind: type[Row], sql: str, values: Any = ()) -> list[Row]:
    """All rows that the statement answers."""
    with session.cursor(row_factory=named(kind)) as cursor:
        return cursor.execute(sql, values).fetchall()
