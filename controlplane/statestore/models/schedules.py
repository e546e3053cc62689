"""Jobs that are started again and again, and what became of each of their times."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from controlplane.choices import TextChoices

from .jobs import Job


class Schedule(models.Model):
    """A job file that is to run at the times of a cron expression.

    Writer: web, for people; ``next_at`` and ``look_at`` also the duty that starts what is due, under the row's lock.
    """

    class Overlap(TextChoices):
        SKIP = "skip", "Start nothing while a job of before lives"
        ALLOW = "allow", "Start it beside them"
        REPLACE = "replace", "Stop them, and start it"

    name = models.CharField(max_length=128)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    queue = models.CharField(max_length=255)  # of its job: who may see the one sees the other
    cron = models.CharField(max_length=255)
    zone = models.CharField(max_length=64)
    except_days = models.JSONField(default=list)
    job = models.TextField()  # the job file as it was sent
    template = models.JSONField()  # what it holds: to read YAML takes a hundred times as long
    given = models.JSONField(default=dict)  # values of its parameters
    digests = models.JSONField(default=list)  # files that it names, which are kept for it
    overlap = models.CharField(max_length=8, choices=Overlap.choices, default=Overlap.SKIP)
    start_within_s = models.IntegerField()
    keep = models.SmallIntegerField()
    until = models.DateTimeField(null=True)
    suspended = models.BooleanField(default=False)
    next_at = models.DateTimeField(null=True)  # the first time of which it is not known yet what becomes of it
    look_at = models.DateTimeField(null=True)  # when the duty looks at it; null: never
    revision = models.IntegerField(default=1)  # one more with each change by people
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_schedule_of_a_name")]
        indexes = [
            models.Index(fields=["look_at"], condition=Q(look_at__isnull=False), name="schedule_by_look"),
            models.Index(fields=["queue"], name="schedule_by_queue"),
        ]


class ScheduleRun(models.Model):
    """What became of a time of a schedule: one row each, made with the job in one transaction.

    Writer: whoever holds the schedule's row, the duty or web.
    """

    class Outcome(TextChoices):
        STARTED = "started", "A job was started"
        REFUSED = "refused", "No job was taken"
        OVERLAP = "overlap", "A job of before had not ended"
        LATE = "late", "Nobody looked in time"
        SUSPENDED = "suspended", "It was suspended"

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="runs", db_index=False)
    at = models.DateTimeField()
    outcome = models.CharField(max_length=12, choices=Outcome.choices)
    job = models.OneToOneField(Job, on_delete=models.SET_NULL, null=True, related_name="scheduled")
    message = models.TextField(blank=True)
    times = models.IntegerField(default=1)  # that it stands for, from ``at`` on
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["schedule", "at"], name="one_run_of_a_time")]
        indexes = [models.Index(fields=["schedule", "-id"], name="run_of_schedule")]
