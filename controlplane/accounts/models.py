"""Accounts, their roles, and which queues they may use or administer."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac

from controlplane.choices import TextChoices


class Role(TextChoices):
    OPERATOR = "operator", "Operator"  # everything
    TENANT = "tenant", "Tenant"  # own jobs, and queues it was granted
    VIEWER = "viewer", "Viewer"  # sees everything, changes nothing


class User(AbstractUser):
    """An account. Its number is the tenant number in container leases."""

    role = models.CharField(max_length=16, choices=Role.choices, default=Role.TENANT)
    sign_outs = models.PositiveIntegerField(default=0)  # part of every session's hash: one more ends them all

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Sessions hold while neither the password nor ``sign_outs`` changes."""
        salt = "django.contrib.auth.models.AbstractBaseUser.get_session_auth_hash"
        value = f"{self.password}:{self.sign_outs}" if self.sign_outs else self.password
        return salted_hmac(salt, value, secret=secret, algorithm="sha256").hexdigest()

    @property
    def is_operator(self) -> bool:
        return self.is_active and self.role == Role.OPERATOR


class QueueAccess(models.Model):
    """What an account may do in a queue and everything below it."""

    class Level(TextChoices):
        SUBMIT = "submit", "Submit jobs and see the queue's jobs"
        ADMIN = "admin", "Also kill, move and reprioritise any job of the queue"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="queue_access")
    queue = models.CharField(max_length=255)  # path, "root.prod"
    level = models.CharField(max_length=8, choices=Level.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "queue"], name="one_access_per_queue")]


class TokenNote(models.Model):
    """What a token is for, and when it was last used. One that a log-in made has no name."""

    token = models.OneToOneField("knox.AuthToken", on_delete=models.CASCADE, primary_key=True, related_name="note")
    name = models.CharField(max_length=64, blank=True)
    last_used_at = models.DateTimeField(null=True)  # to five minutes. Writer: the web process that took it
