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
    """Amounts times the seconds they were held: ``resourcecolumns.SECONDS``."""

    memory_mib_s = models.BigIntegerField(default=0)
    vcores_milli_s = models.BigIntegerField(default=0)
    gpu_s = models.BigIntegerField(default=0)

    class Meta:
        abstract = True
