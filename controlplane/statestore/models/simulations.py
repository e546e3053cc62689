"""What-if simulations that operators ask for: the history or a trace under another policy, or a drain from now on."""

from django.conf import settings
from django.db import models

from controlplane.choices import TextChoices

from .federation import SubCluster
from .queues import PolicyVersion


class SimulationTrace(models.Model):
    """Jobs that an operator handed in to be simulated. Writer: web. Rows go when newer ones need their place."""

    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    added_at = models.DateTimeField()
    name = models.CharField(max_length=200)  # of the file, for people
    kind = models.CharField(max_length=16)  # what the file was: a reader of ``simulator.workloads``
    jobs = models.IntegerField()
    containers = models.IntegerField()
    users = models.IntegerField()
    span_s = models.FloatField()
    queues = models.JSONField()  # the largest, by name, with their jobs
    skipped = models.JSONField()  # jobs that were left out, by reason
    history = models.BinaryField()  # as ``simulator.workloads.history`` writes it, gzipped
    nodes = models.IntegerField(null=True)  # how many the trace tells; null: none
    machines = models.JSONField(null=True)  # these

    class Meta:
        indexes = [models.Index(fields=["added_by", "-id"], name="simulation_trace_by_account")]


class Simulation(models.Model):
    """One question and its answer. Writer: web (request, cancel); while it runs, the runner whose ``token`` it has.

    A runner writes only where its token still stands and the state is still
    running, so one that was cancelled or replaced changes nothing.
    """

    class Kind(TextChoices):
        POLICY = "policy", "What a policy would have done"
        DRAIN = "drain", "What would wait if a sub-cluster were drained"

    class State(TextChoices):
        QUEUED = "queued", "Waits for a runner"
        RUNNING = "running", "Is being simulated"
        DONE = "done", "Has a result"
        FAILED = "failed", "Could not be done"
        CANCELLED = "cancelled", "Called off"

    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.POLICY)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    requested_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    message = models.TextField(blank=True)  # why it failed, in words
    progress = models.FloatField(default=0.0)  # 0 to 1
    simulated_s = models.FloatField(default=0.0)  # how far the slowest of the runs under way is
    begins_at = models.DateTimeField()  # of the window that is replayed, or of what is looked ahead
    ends_at = models.DateTimeField()
    base = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, related_name="+")  # what it is compared to
    version = models.ForeignKey(PolicyVersion, on_delete=models.PROTECT, null=True, related_name="+")
    document = models.JSONField()  # what is simulated, with the overrides of the moment applied
    digest = models.CharField(max_length=64, blank=True)  # of what operators wrote: finds the version it becomes
    change = models.CharField(max_length=300, blank=True)  # what the document changes first of all, in words
    sub_cluster = models.ForeignKey(SubCluster, on_delete=models.PROTECT, null=True, related_name="+")  # is drained
    forecast = models.BooleanField(null=True)  # of a drain: whether the last hour's arrivals are taken to repeat
    deadline_s = models.FloatField(null=True)  # of a drain: after it what still runs there is stopped; null: never
    trace = models.ForeignKey(SimulationTrace, on_delete=models.SET_NULL, null=True, related_name="+")
    trace_name = models.CharField(max_length=200, blank=True)  # what is replayed instead of the history, if anything
    own_nodes = models.BooleanField(null=True)  # of a trace: on its own nodes, and not on the fleet's
    queues = models.JSONField(default=dict, db_default={})  # where jobs go of queues that a policy lacks: old -> leaf
    seeds = models.SmallIntegerField(default=1)
    sample = models.FloatField(default=1.0)  # part of the jobs and nodes that is simulated
    result = models.JSONField(null=True)
    page = models.BinaryField(null=True)  # the report as HTML, gzipped
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    token = models.UUIDField(null=True)  # of the runner that may write
    beat_at = models.DateTimeField(null=True)  # when it last did
    attempts = models.SmallIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["state", "id"], condition=models.Q(ended_at=None), name="simulation_to_do"),
            models.Index(fields=["requested_by", "-id"], name="simulation_by_requester"),
            models.Index(fields=["digest", "-id"], name="simulation_by_digest"),
        ]
