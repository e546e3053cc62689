"""The policy document's versions, and the queue tree each version describes."""

from django.conf import settings
from django.db import models


class PolicyVersion(models.Model):
    """One immutable version of the policy document. Writer: web (operators)."""

    document = models.JSONField()
    message = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    active = models.BooleanField(default=False)  # the version in force; exactly one

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["active"], condition=models.Q(active=True), name="one_active_policy")
        ]


class Queue(models.Model):
    """One queue of one policy version.

    ``guaranteed`` and ``maximum`` are shares of the parent (0 to 1), the
    federation's whole being 1 at the root. Writer: web, with its version.
    """

    version = models.ForeignKey(PolicyVersion, on_delete=models.CASCADE, related_name="queues")
    path = models.CharField(max_length=255)  # "root.prod.etl"
    parent_path = models.CharField(max_length=255, blank=True)
    guaranteed = models.FloatField()
    maximum = models.FloatField(default=1.0)
    weight = models.FloatField(default=1.0)
    open_to_all = models.BooleanField(default=False)  # every tenant may submit
    stopped = models.BooleanField(default=False)  # takes no new jobs
    leaf = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "path"], name="queue_once_per_version")]
        ordering = ["path"]
