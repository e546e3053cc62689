"""Containers: a small live table, history by day, and the transition log.

All three are created by SQL (partitions, fill factor, binary COPY order); the
models read them. Writer: the RM of the container's sub-cluster, in its round.
"""

from django.db import models

from wire.states import ContainerState


class ContainerFields(models.Model):
    id = models.BigIntegerField(primary_key=True)  # wire.ids
    sub_cluster_id = models.SmallIntegerField()
    node_id = models.BigIntegerField()
    job_id = models.BigIntegerField()
    group_no = models.SmallIntegerField()
    task_index = models.IntegerField()
    attempt = models.SmallIntegerField()
    state = models.SmallIntegerField(choices=[(s.value, s.name) for s in ContainerState])
    epoch = models.IntegerField()  # of the leader that wrote the row last
    memory_mib = models.IntegerField()
    vcores_milli = models.IntegerField()
    gpus = models.BigIntegerField()  # bit mask of device ids
    allocated_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class Container(ContainerFields):
    """A container that has not ended."""

    class Meta:
        managed = False
        db_table = "statestore_container"


class ContainerHistory(ContainerFields):
    """A container that has ended. Partitioned by the day of ``finished_at``."""

    finished_at = models.DateTimeField()
    exit_code = models.IntegerField()
    reason = models.SmallIntegerField()  # wire.states.ContainerReason
    peak_memory_mib = models.IntegerField()
    cpu_ms = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "statestore_container_history"


class Round(models.Model):
    """One committed round and its transitions: the outbox, gapless in ``first_seq`` .. ``last_seq``.

    ``transitions`` is packed as ``statestore.outbox`` says. Partitioned by day.
    """

    pk = models.CompositePrimaryKey("sub_cluster_id", "first_seq", "at")
    sub_cluster_id = models.SmallIntegerField()
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    at = models.DateTimeField()
    epoch = models.IntegerField()
    number = models.BigIntegerField()  # of the round within its epoch
    placed = models.IntegerField()
    ended = models.IntegerField()
    plan_us = models.IntegerField()
    commit_us = models.IntegerField()
    transitions = models.BinaryField()

    class Meta:
        managed = False
        db_table = "statestore_round"
