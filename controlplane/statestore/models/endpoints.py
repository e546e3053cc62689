"""Where containers serve. Writer: web, for the container's node; ``retention`` removes what has ended."""

from django.db import models


class Endpoint(models.Model):
    """One port of a container, as its node told it. It counts only while the container is in the live table.

    host: as the node registered it. reach: where web finds it, "" for nowhere;
    null: at ``host``. healthy: null before the first verdict and without a
    health check. checked_at: when the node told it.
    """

    container_id = models.BigIntegerField()  # wire.ids
    job_id = models.BigIntegerField()
    name = models.CharField(max_length=32)
    host = models.CharField(max_length=255)
    reach = models.CharField(max_length=255, null=True)
    port = models.IntegerField()
    healthy = models.BooleanField(null=True)
    checked_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["container_id", "name"], name="endpoint_once")]
        indexes = [models.Index(fields=["job_id"], name="endpoint_of_job")]
