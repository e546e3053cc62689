"""Who changed what, answers already given, and who used what."""

from django.conf import settings
from django.db import models

from controlplane import clock

from .amounts import UsedFields


class AuditEntry(models.Model):
    """One change by a person or program. Written in the change's own transaction.

    Indexes by expressions, for ``queries.accounts.audit``, are in the migration that made them.
    """

    at = models.DateTimeField(default=clock.now)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, db_index=False)
    action = models.CharField(max_length=64)  # "job.kill"
    target = models.CharField(max_length=255)  # "job/42"
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    address = models.GenericIPAddressField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["target", "id"], name="audit_by_target", opclasses=["varchar_pattern_ops", "int8_ops"]
            ),
        ]


class IdempotencyKey(models.Model):
    """The first answer to a request that carried this key. Writer: web, with the change itself."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    key = models.CharField(max_length=128)
    request_sha256 = models.CharField(max_length=64)
    response = models.JSONField()
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="idempotency_key_once")]


TAGS_MAX = 50  # of an account, told apart on one day
OTHERS = "(others)"  # of a day past those; no tag is written so


class UsageTag(UsedFields):
    """What an account used for jobs of one tag in a queue on one day (UTC); a job counts for each of its tags.

    Of the tags of a day the first ``TAGS_MAX`` are told apart, all others are ``OTHERS``. Jobs without a tag have the
    empty one. Counted as ``UsageHour`` is. Writer: the RM.
    """

    pk = models.CompositePrimaryKey("owner_id", "day", "tag", "queue", "sub_cluster_id")
    owner_id = models.BigIntegerField()
    day = models.DateField()
    tag = models.CharField(max_length=63)
    queue = models.CharField(max_length=255)
    sub_cluster_id = models.SmallIntegerField()

    class Meta:
        indexes = [models.Index(fields=["day"], name="usage_tag_by_day")]


class UsageHour(UsedFields):
    """The usage ledger: what an account used in a queue in one hour. Outlives history.

    Counted when a container ends, in the transaction that ends it. Writer: the RM.
    """

    pk = models.CompositePrimaryKey("hour", "sub_cluster_id", "queue", "owner_id")
    hour = models.DateTimeField()
    sub_cluster_id = models.SmallIntegerField()
    queue = models.CharField(max_length=255)
    owner_id = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["owner_id", "hour"], name="usage_by_owner")]
