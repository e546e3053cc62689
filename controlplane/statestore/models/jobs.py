"""Jobs, their task groups and tasks, their asks, and what web wants of an RM."""

from django.conf import settings
from django.db import models

from wire.states import ExecutionType, GroupState, JobState, TaskState


class Job(models.Model):
    """A tenant's submission.

    Writer: web, once, at submit; from then on only its home RM. What web wants
    later (kill, priority) it asks for with an ``Intent``.
    """

    class Kind(models.TextChoices):
        BATCH = "batch", "Batch"
        SERVICE = "service", "Service"

    name = models.CharField(max_length=128)
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.BATCH)
    queue = models.CharField(max_length=255)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="jobs")
    priority = models.SmallIntegerField(default=0)
    tags = models.JSONField(default=list)
    spec = models.JSONField()  # the submission, validated and with defaults filled in
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
            models.Index(fields=["owner", "-id"], name="job_by_owner"),
            models.Index(fields=["queue", "-id"], name="job_by_queue"),
            models.Index(fields=["state", "-id"], name="job_by_state"),
            models.Index(fields=["home"], condition=models.Q(state__lt=JobState.SUCCEEDED), name="job_live_by_home"),
            models.Index(fields=["finished_at"], name="job_by_end"),
        ]


class TaskGroup(models.Model):
    """Tasks of one command and shape. Writer: web at submit, then the job's home RM.

    The counters are for people and lag by up to a second while the group runs;
    a new leader counts again from tasks and containers.
    """

    pk = models.CompositePrimaryKey("job_id", "no")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="groups", db_index=False)
    no = models.SmallIntegerField()
    name = models.CharField(max_length=63)
    count = models.IntegerField()
    memory_mib = models.BigIntegerField()
    vcores_milli = models.BigIntegerField()
    gpus = models.SmallIntegerField(default=0)
    execution_type = models.SmallIntegerField(default=ExecutionType.GUARANTEED)
    state = models.SmallIntegerField(choices=[(s.value, s.name) for s in GroupState], default=GroupState.WAITING)
    running = models.IntegerField(default=0)
    succeeded = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    killed = models.IntegerField(default=0)
    retried = models.IntegerField(default=0)  # attempts that ended and were tried again
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
    """Demand of one task group towards one sub-cluster.

    ``target`` is absolute: how many containers the session wants there in all
    over the ask's life, so that a repeated message changes nothing. Writer: the
    session (job master); ``acknowledged`` is written by the sub-cluster's RM.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, db_index=False)
    group_no = models.SmallIntegerField()
    sub_cluster = models.ForeignKey("statestore.SubCluster", on_delete=models.CASCADE)
    target = models.BigIntegerField()
    version = models.IntegerField(default=1)
    acknowledged = models.IntegerField(default=0)  # the version the RM works from

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "group_no", "sub_cluster"], name="one_ask_each")]


class JobEvent(models.Model):
    """Something worth telling the job's owner that its rows do not say. Writer: the home RM."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=32)
    message = models.TextField()


class Intent(models.Model):
    """What web wants of an RM. Writer: web; the RM deletes it in the round that carries it out."""

    class Kind(models.TextChoices):
        SUBMIT = "submit", "Take this job"
        KILL = "kill", "Stop this job"
        PRIORITY = "priority", "Change this job's priority"
        NODE = "node", "A node was registered, changed or revoked"
        POLICY = "policy", "A policy version is in force"
        MAINTENANCE = "maintenance", "A maintenance window was made or cancelled"

    sub_cluster = models.ForeignKey("statestore.SubCluster", on_delete=models.CASCADE)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, db_index=False)
    node_id = models.BigIntegerField(null=True)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
