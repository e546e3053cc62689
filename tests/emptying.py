"""How a test's rows go: what there is, is deleted.

Django would truncate a hundred tables, which takes Postgres longer than most tests, and make its permissions anew.
"""

from django.db import connection
from django.test import TransactionTestCase

KEPT = ("django_migrations", "django_content_type", "auth_permission")
_TABLES = """
SELECT quote_ident(relname) FROM pg_class
 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> ALL(%s)
"""
_OTHERS = """
SELECT pid || ' ' || application_name || ', ' || state || ' since ' || state_change::text || ': ' || left(query, 120)
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def empty(_: object = None) -> None:
    """Delete every row of every table, whoever made it. Needs a superuser's session."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES, [list(KEPT)])
        tables = [name for (name,) in cursor.fetchall()]
        looks = ", ".join(f"EXISTS (SELECT FROM {name})" for name in tables)
        cursor.execute(f"SELECT {looks}")
        filled = [name for name, has_rows in zip(tables, cursor.fetchone(), strict=True) if has_rows]
        cursor.execute("SET session_replication_role = replica")  # neither triggers nor an order among the tables
        try:
            cursor.execute("; ".join(f"DELETE FROM {name}" for name in filled))
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")


def instead_of_flushing() -> None:
    """From now on, after every test that commits."""
    TransactionTestCase._fixture_teardown = empty  # type: ignore[method-assign]


def sessions_of_others() -> list[str]:
    """Which other sessions this database has, and what each asked last."""
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS)
        return [line for (line,) in cursor.fetchall()]
