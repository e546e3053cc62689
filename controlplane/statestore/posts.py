"""Which sub-clusters nobody leads."""

from django.db import connection

_FREE = """
SELECT s.id, s.name FROM statestore_subcluster s JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE s.state <> 'decommissioned' AND (l.expires_at IS NULL OR l.expires_at < clock_timestamp())
 ORDER BY s.id
"""


def free() -> list[tuple[int, str]]:
    """(number, name) of every sub-cluster without a live lease."""
    with connection.cursor() as cursor:
        cursor.execute(_FREE)
        return cursor.fetchall()
