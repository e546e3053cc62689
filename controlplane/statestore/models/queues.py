"""The policy document's versions, and the queue tree each version describes."""

from django.conf import settings
from django.db import models

from controlplane import clock
from controlplane.choices import TextChoices


class PolicyVersion(models.Model):
    """One immutable version of the policy document. Writer: web (operators), and the stepper of overrides.

    ``document`` is what holds. Where temporary overrides changed what
    operators wrote, ``written`` is that, and ``base`` the version that first had it.
    """

    document = models.JSONField()
    digest = models.CharField(max_length=64, blank=True, db_default="")  # of what operators wrote; "": not known
    written = models.JSONField(null=True)  # null: the document
    base = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="+")  # null: itself
    overrides = models.JSONField(default=list)  # numbers of the overrides in the document
    message = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True)
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField(default=clock.now)
    active = models.BooleanField(default=False)  # the version in force; exactly one
    activated_at = models.DateTimeField(null=True)  # when it was last put in force, by the database's clock

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["active"], condition=models.Q(active=True), name="one_active_policy")
        ]


class Queue(models.Model):
    """One queue of one policy version, with what it inherits written out.

    Writer: web, with its version. ``capacities``: what it may claim per
    partition, in the normal form of ``statestore.capacities``.
    """

    class State(TextChoices):
        RUNNING = "running", "Takes jobs"
        STOPPED = "stopped", "Takes no new jobs"

    class Ordering(TextChoices):
        FIFO = "fifo", "By submission"
        FAIR = "fair", "Every job its share"
        PRIORITY = "priority", "By priority, then by submission"

    version = models.ForeignKey(PolicyVersion, on_delete=models.CASCADE, related_name="queues")
    path = models.CharField(max_length=255)  # "root.prod.etl"
    parent_path = models.CharField(max_length=255, blank=True)
    leaf = models.BooleanField(default=True)
    capacities = models.JSONField(default=dict)
    weight = models.FloatField(null=True)  # null: its guaranteed share
    ordering = models.CharField(max_length=8, choices=Ordering.choices, default=Ordering.PRIORITY)
    preemptable = models.BooleanField(default=True)
    user_maximum = models.FloatField(default=1.0)  # share of the queue's maximum that one user may hold
    max_running_jobs = models.IntegerField(null=True)  # in the queue and below it; null: no limit
    max_running_jobs_per_user = models.IntegerField(null=True)
    max_live_jobs_per_user = models.IntegerField(null=True)  # of a leaf, that have not ended; null: no limit
    max_live_tasks_per_user = models.BigIntegerField(null=True)
    max_live_mib_per_user = models.IntegerField(null=True)
    max_am_share = models.FloatField(default=1.0)
    max_priority = models.SmallIntegerField(default=499)
    default_priority = models.SmallIntegerField(default=0)
    state = models.CharField(max_length=8, choices=State.choices, default=State.RUNNING)
    open_to_all = models.BooleanField(default=False)  # every tenant may submit
    default_partition = models.CharField(max_length=63, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "path"], name="queue_once_per_version")]
        ordering = ["path"]

    @property
    def stopped(self) -> bool:
        return self.state == self.State.STOPPED


class QueueGrant(models.Model):
    """A right in a queue, and all below it, that a policy version grants. Writer: web, with its version.

    ``principal``: an account's name, or a role as ``role:tenant``. ``level``: as of ``accounts.QueueAccess``.
    """

    version = models.ForeignKey(PolicyVersion, on_delete=models.CASCADE, related_name="grants")
    queue = models.CharField(max_length=255)
    principal = models.CharField(max_length=160)
    level = models.CharField(max_length=8)

    class Meta:
        indexes = [models.Index(fields=["version", "principal"], name="grant_by_principal")]
