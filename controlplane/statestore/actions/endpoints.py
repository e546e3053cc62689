"""What nodes tell of the ports of their containers."""

from collections.abc import Callable

from django.db import connection

from controlplane import clock, events
from controlplane.statestore.models import Container, Endpoint, Node
from wire.nodeapi import Serving

_ENDED = """DELETE FROM statestore_endpoint WHERE id IN (
    SELECT e.id FROM statestore_endpoint e LEFT JOIN statestore_container c ON c.id = e.container_id
    WHERE c.id IS NULL LIMIT %s)"""
BATCH = 5000


def publish(container: Container, serving: Serving, reach: Callable[[str], str]) -> None:
    """Keep where a live container serves, in place of what was known. One statement beside the read of its host.

    ``reach``: where web finds a node that calls itself that.
    """
    host, now = Node.objects.values_list("host", flat=True).get(pk=container.node_id), clock.now()
    rows = [
        Endpoint(
            container_id=container.pk,
            job_id=container.job_id,
            name=name,
            host=host,
            reach=reach(host),
            port=port,
            healthy=serving.healthy,
            checked_at=now,
        )
        for name, port in serving.endpoints.items()
    ]
    Endpoint.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["container_id", "name"],
        update_fields=["host", "reach", "port", "healthy", "checked_at"],
    )
    events.hint(f"job:{container.job_id}")


def purge() -> int:
    """Remove the endpoints of containers that have ended; how many."""
    removed = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_ENDED, [BATCH])
            removed += cursor.rowcount
            if cursor.rowcount < BATCH:
                return removed
