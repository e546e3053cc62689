"""Accounts, their roles, and which queues they may use or administer."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class Role(models.TextChoices):
    OPERATOR = "operator", "Operator"  # everything
    TENANT = "tenant", "Tenant"  # own jobs, and queues it was granted
    VIEWER = "viewer", "Viewer"  # sees everything, changes nothing


class User(AbstractUser):
    """An account. Its number is the tenant number in container leases."""

    role = models.CharField(max_length=16, choices=Role.choices, default=Role.TENANT)

    @property
    def is_operator(self) -> bool:
        return self.is_active and self.role == Role.OPERATOR


class QueueAccess(models.Model):
    """What an account may do in a queue and everything below it."""

    class Level(models.TextChoices):
        SUBMIT = "submit", "Submit jobs and see the queue's jobs"
        ADMIN = "admin", "Also kill, move and reprioritise any job of the queue"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="queue_access")
    queue = models.CharField(max_length=255)  # path, "root.prod"
    level = models.CharField(max_length=8, choices=Level.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "queue"], name="one_access_per_queue")]
