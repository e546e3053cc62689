"""The resources' columns of tables that Django makes. Those of containers are in ``containers.py``."""

from django.db import models


class AmountFields(models.Model):
    """What a node has, or what a task asks for."""

    memory_mib = models.BigIntegerField()
    vcores_milli = models.BigIntegerField()
    gpus = models.SmallIntegerField(default=0)  # of a node: device ids 0 .. gpus-1

    class Meta:
        abstract = True


class UsedFields(models.Model):
    """What containers used that have ended: ``resourcecolumns.USED_SUMS``.

    ``tasks``: of the containers, those that were their tasks' first and could have started when the job was submitted;
    ``waited_s``: for how long they did not, together. ``*_s`` beside it: amounts times the seconds they were held.
    """

    containers = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(db_default=0)  # of them
    cpu_ms = models.BigIntegerField(db_default=0)  # they took of processors, as nodes measured it
    tasks = models.BigIntegerField(db_default=0)
    waited_s = models.BigIntegerField(db_default=0)
    peak_memory_mib_s = models.BigIntegerField(db_default=0)  # the most each took, times its seconds
    memory_mib_s = models.BigIntegerField(default=0)
    vcores_milli_s = models.BigIntegerField(default=0)
    gpu_s = models.BigIntegerField(default=0)

    class Meta:
        abstract = True
