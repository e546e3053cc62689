"""What statements cost, counted in rows, which are the same on every machine."""

import json
from typing import Any

from django.db import connection


def rows_read(sql: str, table: str) -> int:
    """How many rows of the table, or entries of its indexes, the statement looks at; it is executed."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        (found,) = cursor.fetchone()
    return _read((json.loads(found) if isinstance(found, str) else found)[0]["Plan"], table)


def _read(plan: dict[str, Any], table: str) -> int:
    rows = 0
    if plan.get("Relation Name") == table and plan["Node Type"] != "Bitmap Index Scan":
        each = plan["Actual Rows"] + sum(n for name, n in plan.items() if name.startswith("Rows Removed"))
        rows = round(each * plan["Actual Loops"])
    return rows + sum(_read(part, table) for part in plan.get("Plans", ()))
