"""Which policy version each part runs, and versions on their way from a few sub-clusters to all."""

from typing import Any

from django.conf import settings
from django.db import models

from controlplane.choices import TextChoices


class Acknowledgement(models.Model):
    """What one part of the system says of the policy it runs. Writer: that part; an RM as its sub-cluster's leader.

    Nodes are counted in the row of their RM: how many run which version, at
    most 100 laggards by name, and how long after the push they reported it.
    """

    class Kind(TextChoices):
        RM = "rm", "The RM of a sub-cluster"
        ROUTER = "router", "A web process"
        GPG = "gpg", "The global policy generator"

    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=128)
    sub_cluster = models.OneToOneField("statestore.SubCluster", on_delete=models.CASCADE, null=True)
    epoch = models.IntegerField(default=0)  # of the RM's leader
    version = models.BigIntegerField()
    at = models.DateTimeField()  # when it took the version in
    seconds = models.FloatField(null=True)  # since the push; null: it started later
    seen_at = models.DateTimeField()  # the row of a part that is gone counts no more
    nodes = models.JSONField(default=dict)  # version -> nodes that run it
    laggards = models.JSONField(default=list)  # names of nodes that run another version
    spread = models.JSONField(default=list)  # [ms since the push, nodes] in rising order
    slowest_s = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="one_acknowledgement_each")]


def is_everywhere(stage: dict[str, Any]) -> bool:
    """Whether the version is in force for all in this stage."""
    return bool(stage.get("everywhere"))


class Rollout(models.Model):
    """A policy version on its way to all. Writer: web (operators) and the duty that drives it, under the row's lock.

    ``stages``: [{"sub_clusters": names, "soak_s": s}]; after the last one, or
    with it where it says ``everywhere``, the version is put in force for all.
    ``metrics``: what the guards saw last.
    """

    class State(TextChoices):
        PENDING = "pending", "Has not begun"
        RUNNING = "running", "A stage's sub-clusters are taking it in"
        SOAKING = "soaking", "A stage's sub-clusters run it and are watched"
        PAUSED = "paused", "Waits for an operator"
        ROLLING_BACK = "rolling_back", "The old content is being put in force again"
        COMPLETED = "completed", "In force everywhere"
        ROLLED_BACK = "rolled_back", "The old content is in force again"
        FAILED = "failed", "Given up: another version was put in force meanwhile"

    class OnBreach(TextChoices):
        PAUSE = "pause", "Pause"
        ROLLBACK = "rollback", "Put the old content in force again"

    version = models.ForeignKey("statestore.PolicyVersion", on_delete=models.PROTECT, related_name="rollouts")
    from_version = models.ForeignKey("statestore.PolicyVersion", on_delete=models.PROTECT, related_name="+")
    rollback_version = models.ForeignKey(
        "statestore.PolicyVersion", on_delete=models.PROTECT, null=True, related_name="+"
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    live = models.BooleanField(default=True)  # it may still change; at most one does
    stages = models.JSONField()
    guards = models.JSONField(default=dict)
    on_breach = models.CharField(max_length=8, choices=OnBreach.choices, default=OnBreach.ROLLBACK)
    stage = models.SmallIntegerField(default=0)  # the one it is in, from 0
    baseline = models.JSONField(default=dict)  # metrics before the first stage
    metrics = models.JSONField(default=dict)
    message = models.TextField(blank=True)  # why it is where it is
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    stage_at = models.DateTimeField(null=True)  # when the stage's sub-clusters were told
    soak_at = models.DateTimeField(null=True)  # when they all ran it
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["live"], condition=models.Q(live=True), name="one_live_rollout")]

    @property
    def everywhere(self) -> bool:
        """Whether the stage it is in is the one that holds for all."""
        return is_everywhere(self.stages[self.stage])
