"""How many jobs run where, of those queues and users whose number is limited over the whole federation."""

from django.db import models


class AdmissionCount(models.Model):
    """Jobs of one sub-cluster that are admitted and have not ended; only where there is a limit.

    Writer: the sub-cluster's RM, always the absolute number. ``owner`` 0
    counts the queue with all below it; otherwise that user in a leaf. With
    gang admission control also amounts: ``queue`` is then ``<path>#<partition>``,
    ``owner`` -1 - r for the r-th resource, and ``running`` its units.
    """

    pk = models.CompositePrimaryKey("queue", "owner", "sub_cluster")
    queue = models.CharField(max_length=320)
    owner = models.BigIntegerField(default=0)
    sub_cluster = models.ForeignKey("statestore.SubCluster", on_delete=models.CASCADE)
    running = models.BigIntegerField()
    epoch = models.IntegerField()


class AdmissionHead(models.Model):
    """The row that claims on a queue lock, in order of their paths, so that they come one after the other."""

    queue = models.CharField(max_length=320, primary_key=True)


class AdmissionLedger(models.Model):
    """The latest policy version under which a sub-cluster has counted all its jobs. Writer: its RM."""

    sub_cluster = models.OneToOneField("statestore.SubCluster", on_delete=models.CASCADE, primary_key=True)
    version = models.BigIntegerField()
    epoch = models.IntegerField()
