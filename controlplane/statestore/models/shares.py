"""What sub-clusters have and want, and what the GPG assigns to each of them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class LoadRow(models.Model):
    """What a sub-cluster has, uses and wants, as its leader last said. Writer: its RM, through ``loads``."""

    sub_cluster = models.OneToOneField("statestore.SubCluster", on_delete=models.CASCADE, primary_key=True)
    at = models.DateTimeField()
    epoch = models.IntegerField()
    policy_version = models.BigIntegerField()
    shares_version = models.BigIntegerField()  # the assignment it goes by; 0: none
    nodes_up = models.IntegerField()
    capacity = ArrayField(models.BigIntegerField())  # memory_mib, vcores_milli, gpus of nodes that take containers
    free = ArrayField(models.BigIntegerField())
    pending = ArrayField(models.BigIntegerField())
    body = models.BinaryField()  # per partition and queue, see ``loads``
    limited = models.BinaryField(null=True)  # per partition and queue; null: nothing waits for a limit

    class Meta:
        db_table = "statestore_load"


class ShareAssignment(models.Model):
    """What every queue is guaranteed in one sub-cluster. Writer: the GPG's leader, through ``shares``.

    All rows of one computation have the same ``version``, which only rises.
    """

    sub_cluster = models.OneToOneField("statestore.SubCluster", on_delete=models.CASCADE, primary_key=True)
    version = models.BigIntegerField()
    at = models.DateTimeField()
    epoch = models.IntegerField()  # of the GPG's leader
    policy_version = models.BigIntegerField()  # whose queues they are
    body = models.BinaryField()  # per partition and queue, see ``shares``


class DutyLease(models.Model):
    """Who has a post of which there is one in the federation, such as ``gpg``. Writer: the holder, through
    ``membership``; time is the database's."""

    name = models.CharField(max_length=63, primary_key=True)
    epoch = models.IntegerField(default=0)  # rises only with a new holder
    holder = models.CharField(max_length=128, blank=True)
    backend_pid = models.IntegerField(default=0)
    expires_at = models.DateTimeField(null=True)


class Starvation(models.Model):
    """A queue that is below its guarantee in a partition and wants more.

    Writer: the GPG's leader, through ``starving``.
    """

    pk = models.CompositePrimaryKey("queue", "partition")
    queue = models.CharField(max_length=255)
    partition = models.CharField(max_length=63, blank=True)
    since = models.DateTimeField()
    seen_at = models.DateTimeField()  # when the GPG looked last
