"""Sub-clusters, who leads them, and their nodes."""

from django.db import models

from wire.states import NodeState


class SubCluster(models.Model):
    """A set of nodes with one RM. Writer: web (operators)."""

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        DRAINING = "draining", "Draining: the Router sends it nothing new"
        DECOMMISSIONED = "decommissioned", "Decommissioned"

    id = models.SmallAutoField(primary_key=True)
    name = models.SlugField(max_length=63, unique=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.RUNNING)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """Who leads a sub-cluster. Writer: the leader, through ``membership``; time is the database's."""

    sub_cluster = models.OneToOneField(SubCluster, on_delete=models.CASCADE, primary_key=True)
    epoch = models.IntegerField(default=0)  # rises only with a new holder
    holder = models.CharField(max_length=128, blank=True)
    backend_pid = models.IntegerField(default=0)  # the holder's database session, ended by a successor
    expires_at = models.DateTimeField(null=True)
    next_seq = models.BigIntegerField(default=1)  # of the transition log; moved inside the round's transaction


class Node(models.Model):
    """A machine that runs containers.

    Writer: web at registration (everything but ``state``, ``health``,
    ``state_changed_at``, which belong to the RM of its sub-cluster).
    """

    sub_cluster = models.ForeignKey(SubCluster, on_delete=models.PROTECT, related_name="nodes")
    name = models.CharField(max_length=63)
    rack = models.CharField(max_length=63, default="default")
    labels = models.JSONField(default=dict)
    memory_mib = models.BigIntegerField()
    vcores_milli = models.BigIntegerField()
    gpus = models.SmallIntegerField(default=0)  # device ids 0 .. gpus-1
    extended = models.JSONField(default=dict)
    enforces = models.JSONField(default=list)  # limits it enforces, as it said
    host = models.CharField(max_length=255, blank=True)
    version = models.CharField(max_length=32, blank=True)
    registered_at = models.DateTimeField(auto_now_add=True)
    state = models.SmallIntegerField(choices=[(s.value, s.name) for s in NodeState], default=NodeState.REGISTERED)
    health = models.SmallIntegerField(default=0)  # wire.states.NodeHealth
    state_changed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sub_cluster", "name"], name="node_name_once_per_sub_cluster")]


class NodeCredential(models.Model):
    """Hash of the secret a node proves itself with, over HTTP and to Redis. Writer: web."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="credential")
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)


class JoinToken(models.Model):
    """Leave to register nodes in one sub-cluster, stored hashed. Writer: web (operators)."""

    sub_cluster = models.ForeignKey(SubCluster, on_delete=models.CASCADE)
    sha256 = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
