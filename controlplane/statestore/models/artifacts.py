"""Content-addressed artifacts, task outputs, and kept logs."""

from django.conf import settings
from django.db import models

from controlplane import clock
from controlplane.choices import IntegerChoices


class Artifact(models.Model):
    """Bytes named by their SHA-256, kept in Django's storage. Writer: web, at upload."""

    digest = models.CharField(max_length=64, primary_key=True)
    size = models.BigIntegerField()
    created_at = models.DateTimeField(default=clock.now)
    last_used_at = models.DateTimeField(default=clock.now)  # unused ones are removed after the retention


class ArtifactOwner(models.Model):
    """Who keeps an artifact, and so may use it. Writer: web.

    That is whose upload it was, whose task published it, and whose live job or schedule names it. While there is such
    a row, nobody but retention deletes the bytes.
    """

    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False)
    size = models.BigIntegerField(db_default=0)  # the artifact's, by which an account's are listed and summed up

    class Meta:
        constraints = [models.UniqueConstraint(fields=["artifact", "owner"], name="artifact_owner_once")]
        indexes = [models.Index(fields=["owner", "-size", "-id"], name="artifact_by_owner")]


class TaskOutput(models.Model):
    """A named output one attempt has published. Writer: web, for the node that runs the attempt.

    It counts only if that attempt is the one its task row names.
    """

    job = models.ForeignKey("statestore.Job", on_delete=models.CASCADE, related_name="outputs", db_index=False)
    group_no = models.SmallIntegerField()
    task_index = models.IntegerField()
    container_id = models.BigIntegerField()
    name = models.CharField(max_length=63)
    path = models.CharField(max_length=255)
    digest = models.CharField(max_length=64, db_index=True)
    size = models.BigIntegerField()
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job", "group_no", "task_index", "container_id", "name"], name="output_once"
            )
        ]


class LogChunk(models.Model):
    """A piece of a container's stdout or stderr. Partitioned by day. Writer: web, for the node."""

    class Stream(IntegerChoices):
        STDOUT = 1, "stdout"
        STDERR = 2, "stderr"

    pk = models.CompositePrimaryKey("container_id", "stream", "offset", "day")
    container_id = models.BigIntegerField()
    stream = models.SmallIntegerField(choices=Stream.choices)
    offset = models.BigIntegerField()
    day = models.DateField()  # the day it came
    at = models.DateTimeField(null=True)  # when it came; null: before moments were noted
    data = models.BinaryField()
    skipped = models.BigIntegerField(default=0)  # bytes dropped just before this piece

    class Meta:
        managed = False
        db_table = "statestore_log_chunk"
