"""Where accounts hear of their jobs, and what is to be told: an outbox, written with what it tells of."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane.choices import TextChoices

from .jobs import Job


class Receiver(models.Model):
    """A webhook, or mail to the account's own address.

    Writer: web, for its owner; ``free_at``, ``claim``, ``failures`` and ``error`` the duty that delivers, which has a
    receiver to itself until ``free_at`` once it has raised ``claim``.
    """

    class Kind(TextChoices):
        WEBHOOK = "webhook", "A POST to an address"
        MAIL = "mail", "A mail"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    address = models.CharField(max_length=300, blank=True)  # as it may be shown
    sealed = models.TextField(blank=True)  # a webhook's address and key, see ``statestore.actions.receivers``
    every_job = models.JSONField(default=list)  # events that it is told for all jobs of the account
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    free_at = models.DateTimeField()  # when something may next be sent
    claim = models.IntegerField(default=0)
    failures = models.SmallIntegerField(default=0)  # in a row
    error = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_receiver_of_a_name")]


class Notification(models.Model):
    """One thing to tell one receiver.

    Writer: the home RM of the job, in the round in which that begins or ends; web for a test; then the duty that
    delivers.
    """

    class State(TextChoices):
        WAITING = "waiting", "To be told"
        SENT = "sent", "The receiver has taken it"
        GIVEN_UP = "given_up", "The receiver did not take it for too long"

    # Not held by the database: no round waits for a receiver that its owner deletes at this moment. What is left of
    # such a one is told to nobody, and ends with the others of its time.
    receiver = models.ForeignKey(
        Receiver, on_delete=models.CASCADE, related_name="notifications", db_index=False, db_constraint=False
    )
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, related_name="+", db_index=False)  # null: a test
    event = models.CharField(max_length=12)
    at = models.DateTimeField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    attempts = models.SmallIntegerField(default=0)
    error = models.TextField(blank=True)
    tried_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "receiver", "event"], name="told_once")]
        indexes = [
            models.Index(fields=["receiver", "-id"], name="notification_of_receiver"),
            models.Index(fields=["receiver", "attempts", "id"], condition=Q(state="waiting"), name="to_be_told"),
        ]
