"""Of which kinds of rows there are any that a duty may have to do with: mostly of none."""

from django.db import connection

_DUE = """
SELECT
 EXISTS (SELECT FROM statestore_subcluster WHERE state = 'joining') AS sub_clusters,
 EXISTS (SELECT FROM statestore_rollout WHERE live) AS rollouts,
 EXISTS (SELECT FROM statestore_policyversion WHERE active AND overrides <> '[]') OR
 EXISTS (SELECT FROM statestore_policyoverride
          WHERE cancelled_at IS NULL AND ends_at > clock_timestamp() AND starts_at <= clock_timestamp()) AS overrides,
 EXISTS (SELECT FROM statestore_simulation WHERE state IN ('queued', 'running') AND ended_at IS NULL) AS simulations,
 EXISTS (SELECT FROM statestore_node n LEFT JOIN statestore_nodecredential c ON c.node_id = n.id
          WHERE n.duty = 'decommissioned' AND c.revoked_at IS NULL) AS nodes,
 EXISTS (SELECT FROM statestore_schedule WHERE look_at <= clock_timestamp()) AS schedules,
 EXISTS (SELECT FROM statestore_receiver r WHERE free_at <= clock_timestamp() AND EXISTS
          (SELECT FROM statestore_notification n WHERE n.receiver_id = r.id AND n.state = 'waiting')) AS notifications,
 EXISTS (SELECT FROM statestore_lease
          WHERE silent_since IS NOT NULL OR expires_at IS NULL OR expires_at < clock_timestamp()) OR
 EXISTS (SELECT FROM statestore_subcluster WHERE state = 'lost') AS unled
"""


def kinds() -> set[str]:
    """The columns of the statement that hold. One question instead of each duty's own, which cost a process as much
    as everything else that it does while nothing happens. Raises ``DatabaseError``."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE)
        return {column.name for column, due in zip(cursor.description, cursor.fetchone(), strict=True) if due}
