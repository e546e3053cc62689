"""Which sub-clusters there are to lead, and which of them nobody leads."""

from django.db import connection

from controlplane.statestore.membership import FREE

GPG = "gpg"  # the post of the global policy generator

_FREE = f"""
SELECT s.id, s.name FROM statestore_subcluster s JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE s.state <> 'decommissioned' AND {FREE}
 ORDER BY s.id
"""

_LED = """
SELECT s.id, s.name, l.holder FROM statestore_subcluster s JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE l.expires_at >= clock_timestamp() ORDER BY s.id
"""

_FREE_POST = """
WITH made AS (
    INSERT INTO statestore_dutylease (name, epoch, holder, backend_pid)
    SELECT %(name)s, 0, '', 0 WHERE NOT EXISTS (SELECT 1 FROM statestore_dutylease WHERE name = %(name)s)
        ON CONFLICT DO NOTHING)
SELECT coalesce((SELECT expires_at IS NULL OR expires_at < clock_timestamp()
                   FROM statestore_dutylease WHERE name = %(name)s), true)
"""


def free(holder: str = "") -> list[tuple[int, str]]:
    """(number, name) of every sub-cluster that nobody leads, and that ``holder`` may."""
    with connection.cursor() as cursor:
        cursor.execute(_FREE, {"holder": holder})
        return cursor.fetchall()


def led() -> list[tuple[int, str, str]]:
    """(number, name, who leads it) of every sub-cluster with a live lease."""
    with connection.cursor() as cursor:
        cursor.execute(_LED)
        return cursor.fetchall()


def names() -> list[str]:
    """Every sub-cluster that has not left for good."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM statestore_subcluster WHERE state <> 'decommissioned' ORDER BY id")
        return [name for (name,) in cursor.fetchall()]


def gpg_is_free() -> bool:
    """Whether nobody has the GPG's post. Its row is made here when it is missing."""
    with connection.cursor() as cursor:
        cursor.execute(_FREE_POST, {"name": GPG})
        return bool(cursor.fetchone()[0])
