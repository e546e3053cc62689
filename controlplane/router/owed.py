"""What queues are guaranteed now by the policy in force, for history of when they were idle."""

from collections.abc import Sequence

from django.db import connection

from controlplane.statestore.models import PolicyVersion, SubCluster
from controlplane.statestore.queries.series.reading import AllOwed, Owed
from controlplane.statestore.series import gauges
from controlplane.statestore.series.columns import QUEUE
from controlplane.statestore.series.metrics import Metric
from wire.resources import AXES


def owed(scopes: Sequence[str], metrics: Sequence[Metric]) -> AllOwed:
    """By queue and column, what it is guaranteed now. Four queries at most, none where that is not asked."""
    queues = [scope for scope in scopes if scope.startswith(QUEUE)]
    columns = [m.column for m in metrics if not m.idle]
    if not queues or not columns:
        return {}
    names = dict(SubCluster.objects.exclude(state=SubCluster.State.DECOMMISSIONED).values_list("pk", "name"))
    found = gauges.guarantees(gauges.recent(connection.connection, names))
    since = PolicyVersion.objects.filter(active=True).values_list("activated_at", flat=True).first()
    if since is None:
        return {}
    axes = {f"capacity_{axis}": at for at, axis in enumerate(AXES)}
    return {
        (scope, column): Owed(since, float(found[path][axes[column]]))
        for scope in queues
        if (path := scope.removeprefix(QUEUE)) in found
        for column in columns
    }
