"""Containers that are live."""

from django.db.models import QuerySet

from controlplane.statestore import bus
from controlplane.statestore.models import Container


def on_node(sub_cluster: int, node: int) -> "QuerySet[Container]":
    """Those of a node, of all jobs.

    The live table has no index by node, because it would cost every container.
    Which rows to look at is what the node is to hold and says it holds; the table
    itself is searched only while Redis says neither.
    """
    held = bus.held(sub_cluster, node)
    found = Container.objects.filter(node_id=node)
    return found if held is None else found.filter(pk__in=held)
