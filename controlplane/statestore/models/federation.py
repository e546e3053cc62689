"""Sub-clusters, who leads them, and their nodes."""

from django.conf import settings
from django.db import models

from controlplane import clock
from controlplane.choices import TextChoices
from wire.states import NodeState

from .amounts import AmountFields


class SubCluster(models.Model):
    """A set of nodes with one RM. Writer: web, through ``actions.subclusters`` (operators), and the GPG (lost or not).

    What leads from state to state is in ``statestore/lifeline.py``. ``deadline``
    is a drain's: what still runs here then is stopped; null: never.
    """

    class State(TextChoices):
        JOINING = "joining", "Registered; no RM has led it yet, or it has no node"
        RUNNING = "running", "Running"
        DRAINING = "draining", "Is being emptied: nothing new is sent here"
        LOST = "lost", "Its RM and its nodes are silent; its jobs have new homes"
        DECOMMISSIONED = "decommissioned", "Has left for good"

    id = models.SmallAutoField(primary_key=True)
    name = models.SlugField(max_length=63, unique=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.RUNNING)
    state_message = models.CharField(max_length=255, blank=True)
    state_at = models.DateTimeField(null=True)  # null: since it was made
    state_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    deadline = models.DateTimeField(null=True)
    lost_from = models.CharField(max_length=16, blank=True)  # the state it was lost in, and returns to
    # Whose component policies hold here while that version is rolled out in stages; null: those of the one in force.
    components_version = models.ForeignKey("statestore.PolicyVersion", on_delete=models.PROTECT, null=True)
    components_at = models.DateTimeField(null=True)  # since when
    created_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return self.name


class SubClusterToken(models.Model):
    """Leave to register one new sub-cluster, stored hashed. Writer: web; ``used_at`` with the registration."""

    sha256 = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=63, blank=True)  # the only name it registers; empty: any
    note = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(default=clock.now)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    sub_cluster = models.ForeignKey(SubCluster, on_delete=models.SET_NULL, null=True)  # that it registered


class Lease(models.Model):
    """Who leads a sub-cluster. Writer: the leader, through ``membership``; time is the database's."""

    sub_cluster = models.OneToOneField(SubCluster, on_delete=models.CASCADE, primary_key=True)
    epoch = models.IntegerField(default=0)  # rises only with a new holder
    holder = models.CharField(max_length=128, blank=True)
    backend_pid = models.IntegerField(default=0)  # the holder's database session, ended by a successor
    expires_at = models.DateTimeField(null=True)
    # Since when it has been seen without a holder, and when last; a watch with a gap begins anew. Writer: ``rehoming``.
    silent_since = models.DateTimeField(null=True)
    silent_seen = models.DateTimeField(null=True)
    next_seq = models.BigIntegerField(default=1)  # of the transition log; moved inside the round's transaction


class Node(AmountFields):
    """A machine that runs containers.

    Writer: web (everything but ``state``, ``health``, ``state_changed_at``,
    which belong to the RM of its sub-cluster). What the node is and says of
    its health comes at registration and later; ``duty`` is an operator's wish,
    from which its RM works out what to stop and what not to place.
    """

    class Duty(TextChoices):
        IN_SERVICE = "in_service", "Takes containers"
        CORDONED = "cordoned", "Takes no new containers; what runs, runs on"
        DRAINING = "draining", "Is being emptied"
        DECOMMISSIONED = "decommissioned", "Is being emptied, then leaves for good"

    EMPTYING = (Duty.DRAINING, Duty.DECOMMISSIONED)

    sub_cluster = models.ForeignKey(SubCluster, on_delete=models.PROTECT, related_name="nodes")
    name = models.CharField(max_length=63)
    rack = models.CharField(max_length=63, default="default")
    labels = models.JSONField(default=dict)
    enforces = models.JSONField(default=list)  # limits it enforces, as it said
    host = models.CharField(max_length=255, blank=True)
    version = models.CharField(max_length=32, blank=True)
    registered_at = models.DateTimeField(default=clock.now)
    state = models.SmallIntegerField(choices=[(s.value, s.name) for s in NodeState], default=NodeState.REGISTERED)
    health = models.SmallIntegerField(default=0)  # wire.states.NodeHealth
    state_changed_at = models.DateTimeField(null=True)
    health_text = models.CharField(max_length=200, blank=True)  # what its health script complains of
    duty = models.CharField(max_length=16, choices=Duty.choices, default=Duty.IN_SERVICE)
    duty_deadline = models.DateTimeField(null=True)  # of a drain: what still runs then is stopped; null: never
    duty_message = models.CharField(max_length=255, blank=True)
    duty_at = models.DateTimeField(null=True)
    duty_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sub_cluster", "name"], name="node_name_once_per_sub_cluster")]


class MaintenanceWindow(models.Model):
    """A time in which some nodes of a sub-cluster are to be empty. Writer: web (operators).

    Exactly one of ``node`` (its name), ``rack`` and ``labels`` (an expression)
    says which. Services move from ``lead_s`` before its start on.
    """

    sub_cluster = models.ForeignKey(SubCluster, on_delete=models.CASCADE, related_name="maintenance")
    node = models.CharField(max_length=63, blank=True)
    rack = models.CharField(max_length=63, blank=True)
    labels = models.CharField(max_length=500, blank=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    lead_s = models.IntegerField(default=600)
    message = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(default=clock.now)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    cancelled_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["sub_cluster", "ends_at"], name="maintenance_to_come")]


class NodeCredential(models.Model):
    """Hash of the secret a node proves itself with, over HTTP and to Redis. Writer: web."""

    node = models.OneToOneField(Node, on_delete=models.CASCADE, primary_key=True, related_name="credential")
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=clock.now)
    revoked_at = models.DateTimeField(null=True)


class JoinToken(models.Model):
    """Leave to register new nodes in one sub-cluster, stored hashed. Writer: web (operators).

    ``node``: the only name it registers, once, and also where another machine
    has it; empty: any name that nobody has.
    """

    sub_cluster = models.ForeignKey(SubCluster, on_delete=models.CASCADE)
    sha256 = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=255, blank=True)
    node = models.CharField(max_length=63, blank=True)
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField(null=True)  # null: made by older versions for a host's own nodes
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)  # of those for one name
