"""Changes of the policy that are to come: proposals that wait for a second operator, and overrides with an end."""

from django.conf import settings
from django.db import models

from controlplane.choices import TextChoices

from .queues import PolicyVersion


class PolicyProposal(models.Model):
    """A change that another operator approves or rejects. Writer: web (operators).

    ``payload`` is what ``kind`` needs to be carried out (``controlplane.policy.decisions``).
    A row that still says pending may have expired, or be stale because its
    base is not what is in force any more: both are found by looking.
    """

    class State(TextChoices):
        PENDING = "pending", "Waits for another operator"
        APPROVED = "approved", "Carried out"
        REJECTED = "rejected", "Will not be done"
        WITHDRAWN = "withdrawn", "Taken back by its author"

    kind = models.CharField(max_length=16)
    payload = models.JSONField()
    changes = models.JSONField(default=list)  # the diff as it was proposed, cut to a bounded length
    message = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    base = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    decision = models.TextField(blank=True)  # what who decided said
    result = models.JSONField(null=True)  # what approval made: {"version": 9}, {"override": 3}

    class Meta:
        indexes = [models.Index(fields=["-id", "state"], name="proposal_by_state")]


class PolicyOverride(models.Model):
    """A field of one queue that has another value for a time. Writer: web (operators), ``problem`` by the stepper.

    ``change`` is ``{"to": value}`` as a document writes it, or ``{"percent":
    20}`` of what the document says. Whether it is in force is said by the
    version in force, which lists the overrides that went into it.
    """

    queue = models.CharField(max_length=255)
    field = models.CharField(max_length=32)
    partition = models.CharField(max_length=63, blank=True)
    change = models.JSONField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    message = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()
    cancelled_at = models.DateTimeField(null=True)
    cancelled_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    problem = models.TextField(blank=True)  # why it could not be applied
    refused_in = models.BigIntegerField(null=True)  # the version in force when that was found

    class Meta:
        indexes = [
            models.Index(fields=["ends_at"], condition=models.Q(cancelled_at__isnull=True), name="override_to_come")
        ]
