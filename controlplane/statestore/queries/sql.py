"""Hand-written statements, where the ORM has no words for them."""

from typing import Any

from django.db import connection


def rows_as_dicts(sql: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one statement on Django's connection; a dictionary per row."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def beginning(text: str) -> str:
    """A pattern of LIKE for what begins so."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"
