"""Create sub-clusters and change whether the Router sends them work."""

from django.db import transaction

from controlplane import events
from controlplane.statestore.models import Lease, SubCluster

from .audit import Actor, record


def create(actor: Actor, name: str) -> SubCluster:
    """The sub-cluster of this name, made if it is new, with a lease row nobody holds yet."""
    with transaction.atomic():
        sub_cluster, created = SubCluster.objects.get_or_create(name=name)
        Lease.objects.get_or_create(sub_cluster=sub_cluster)
        if created:
            record(actor, "sub-cluster.create", f"sub-cluster/{name}")
            transaction.on_commit(lambda: events.hint("overview"))
    return sub_cluster


def set_state(actor: Actor, sub_cluster: SubCluster, state: SubCluster.State) -> None:
    """Drain, resume or decommission; a draining one keeps its jobs and gets no new ones."""
    with transaction.atomic():
        before = SubCluster.objects.select_for_update().get(pk=sub_cluster.pk).state
        SubCluster.objects.filter(pk=sub_cluster.pk).update(state=state)
        record(actor, "sub-cluster.state", f"sub-cluster/{sub_cluster.name}", {"state": before}, {"state": str(state)})
        transaction.on_commit(lambda: events.hint("overview"))
