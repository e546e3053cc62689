"""Jobs, their task groups and tasks, their asks, and what web wants of an RM."""

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from controlplane import clock
from controlplane.choices import TextChoices
from wire.states import ExecutionType, GroupState, JobState, TaskState

from .amounts import AmountFields


class Job(models.Model):
    """A tenant's submission.

    Writer: web, once, at submit; from then on only its home RM. What web wants
    later (kill, priority) it asks for with an ``Intent``.
    """

    class Kind(TextChoices):
        BATCH = "batch", "Batch"
        SERVICE = "service", "Service"
        APPLICATION = "application", "Application, with a master of its own"

    name = models.CharField(max_length=128)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.BATCH)
    queue = models.CharField(max_length=255)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs", db_index=False)
    priority = models.SmallIntegerField(default=0)
    tags = models.JSONField(default=list)
    spec = models.JSONField()  # the submission, validated and with defaults filled in
    services = models.JSONField(null=True)  # what was asked of its groups since: ``rm.memory.jobs.JobEntry.services``
    revisions = models.JSONField(null=True)  # of a service that was updated: ``rm.steps.revisions``, that in force last
    spec_bytes = models.IntegerField(db_default=0)  # of its containers' templates; 0 of jobs of older releases
    task_count = models.IntegerField(db_default=0)  # of a service, by now; 0 of jobs of older releases
    home = models.ForeignKey("statestore.SubCluster", on_delete=models.PROTECT, related_name="homed_jobs")
    submitted_at = models.DateTimeField()
    retry_of = models.ForeignKey("self", on_delete=models.SET_NULL, null=True)  # the ended job this one repeats
    state = models.SmallIntegerField(choices=[(s.value, s.name) for s in JobState], default=JobState.SUBMITTED)
    message = models.TextField(blank=True)  # why it ended as it did
    epoch = models.IntegerField(default=0)  # of the home RM's last write
    admitted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # What the job list filters by is in each of these, see queries.jobs.walk.
            models.Index(fields=["owner", "-id"], include=["queue", "state", "kind"], name="job_by_owner"),
            models.Index(fields=["queue", "-id"], include=["owner", "state", "kind"], name="job_by_queue"),
            models.Index(fields=["state", "-id"], include=["kind"], name="job_by_state"),
            models.Index(fields=["home"], condition=models.Q(state__lt=JobState.SUCCEEDED), name="job_live_by_home"),
            models.Index(fields=["finished_at"], name="job_by_end"),
            models.Index(fields=["submitted_at"], name="job_by_submission"),
            models.Index(fields=["kind", "-id"], include=["state"], name="job_by_kind"),
            models.Index(
                fields=["name"],
                include=["id", "owner", "queue", "state", "kind"],
                opclasses=["varchar_pattern_ops"],
                name="job_by_name",
            ),
            GinIndex(
                fields=["tags"],
                opclasses=["jsonb_path_ops"],
                fastupdate=False,
                condition=~models.Q(tags=[]),
                name="job_by_tag",
            ),
        ]


class TaskGroup(AmountFields):
    """Tasks of one command and shape. Writer: web at submit, then the job's home RM.

    The counters are for people and lag by up to a second while the group runs;
    a new leader counts again from tasks and containers.
    """

    pk = models.CompositePrimaryKey("job_id", "no")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="groups", db_index=False)
    no = models.SmallIntegerField()
    name = models.CharField(max_length=63)
    count = models.IntegerField()
    execution_type = models.SmallIntegerField(default=ExecutionType.GUARANTEED)
    state = models.SmallIntegerField(choices=[(s.value, s.name) for s in GroupState], default=GroupState.WAITING)
    running = models.IntegerField(default=0)
    succeeded = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    killed = models.IntegerField(default=0)
    retried = models.IntegerField(default=0)  # attempts that ended and were tried again
    granted = models.BigIntegerField(null=True)  # of a master's ask: containers that its master was told of
    reason = models.JSONField(null=True)  # why it waits, with numbers; null when nothing waits
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)


class Task(models.Model):
    """A task one of whose attempts has ended; others exist only as the group's count.

    Partitioned by the job's submission day. Writer: the job's home RM.
    """

    pk = models.CompositePrimaryKey("submitted_on", "job_id", "group_no", "index")
    submitted_on = models.DateField()
    job_id = models.BigIntegerField()
    group_no = models.SmallIntegerField()
    index = models.IntegerField()
    state = models.SmallIntegerField(choices=[(s.value, s.name) for s in TaskState])
    attempts = models.SmallIntegerField()  # started so far
    failures = models.SmallIntegerField()  # of them, those that count against its retries
    container_id = models.BigIntegerField()  # the attempt that decided, or the last one
    exit_code = models.IntegerField()
    finished_at = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "statestore_task"


class Ask(models.Model):
    """Demand of one task group that its home has handed to another sub-cluster.

    ``work`` lists the tasks at positions ``base`` to ``target``
    (``scheduler.lifecycle.guest``); those before ``taken`` were started there.
    To take demand back the home lowers ``wish`` and waits until ``target`` has
    followed. Writer: the home RM; ``taken``, ``acknowledged``, ``reason`` and
    a lower ``target`` are written by the sub-cluster's RM.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, db_index=False)
    group_no = models.SmallIntegerField()
    sub_cluster = models.ForeignKey("statestore.SubCluster", on_delete=models.CASCADE)
    base = models.BigIntegerField(default=0)
    target = models.BigIntegerField()
    taken = models.BigIntegerField(default=0)
    wish = models.BigIntegerField()
    work = models.BinaryField()
    halt = models.BooleanField(default=False)  # stop what was started, too
    version = models.IntegerField(default=1)
    acknowledged = models.IntegerField(default=0)  # the version the RM works from
    since = models.DateTimeField()  # when demand was last handed over
    reason = models.JSONField(null=True)  # why what is left waits there, with numbers

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "group_no", "sub_cluster"], name="one_ask_each")]
        indexes = [
            models.Index(
                fields=["sub_cluster"], condition=models.Q(version__gt=models.F("acknowledged")), name="ask_unread"
            )
        ]


class Report(models.Model):
    """What became of tasks that a job's home had handed to another sub-cluster.

    Either ``events`` (``controlplane.rm.steps.reports.EVENT`` records) and what the
    job's application master is to be ``told`` (``masterevents.Told``), or the
    target to which an ask was lowered. Writer: the sub-cluster's RM in the
    round that did it; the home deletes it in the round that takes it in.
    """

    home = models.ForeignKey("statestore.SubCluster", on_delete=models.CASCADE, related_name="+")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, db_index=False)
    sub_cluster = models.ForeignKey("statestore.SubCluster", on_delete=models.CASCADE, related_name="+", db_index=False)
    group_no = models.SmallIntegerField(null=True)
    target = models.BigIntegerField(null=True)
    events = models.BinaryField(default=b"")
    told = models.JSONField(null=True)


class JobEvent(models.Model):
    """Something worth telling the job's owner that its rows do not say. Writer: web at submit, then the home RM."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events", db_index=False)
    at = models.DateTimeField()
    kind = models.CharField(max_length=32)
    message = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["job", "id"], name="event_of_job")]


class Intent(models.Model):
    """What web wants of an RM. Writer: web; the RM deletes it in the round that carries it out."""

    class Kind(TextChoices):
        SUBMIT = "submit", "Take this job"
        KILL = "kill", "Stop this job"
        PRIORITY = "priority", "Change this job's priority"
        MOVE = "move", "Put this job into another queue"
        SCALE = "scale", "Keep another number of a service's tasks running"
        RESTART = "restart", "Start tasks of a service again"
        UPDATE = "update", "Roll another specification of a service out"
        NODE = "node", "A node was registered, changed or revoked"
        POLICY = "policy", "A policy version is in force"
        MAINTENANCE = "maintenance", "A maintenance window was made or cancelled"
        MASTER = "master", "An application master wants something"
        CONTAINERS = "containers", "An application master launches or gives back containers of this sub-cluster"
        ADOPT = "adopt", "Jobs of a lost sub-cluster have moved here"

    sub_cluster = models.ForeignKey("statestore.SubCluster", on_delete=models.CASCADE)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, db_index=False)
    node_id = models.BigIntegerField(null=True)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=clock.now)
