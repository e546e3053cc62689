"""Commands that people run in live containers."""

from django.conf import settings
from django.db import models


class Exec(models.Model):
    """One of them, from its request to its end. Writer: web.

    It lives while ``ended_at`` is empty and the web process that has the person
    renews ``seen_at``. ``order``: ``wire.execs.Start``. ``attached_at``: the
    person's socket came; ``joined_at``: the node's did; each comes once.
    ``ended_at`` lies ahead while what ran may still be on its way to its end.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    job = models.ForeignKey("statestore.Job", on_delete=models.CASCADE, related_name="+")
    container_id = models.BigIntegerField()
    sub_cluster_id = models.SmallIntegerField()
    node_id = models.BigIntegerField()
    order = models.JSONField()
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    attached_at = models.DateTimeField(null=True)
    joined_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["node_id"], condition=models.Q(ended_at=None), name="exec_that_lives"),
            models.Index(fields=["ended_at"], condition=models.Q(ended_at__isnull=False), name="exec_that_ended"),
        ]
