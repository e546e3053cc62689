"""Jobs that bring their own application master: what it wants, what it was told, how it says that it ends."""

from django.db import models

from wire.states import JobState


class Master(models.Model):
    """The session of a job's application master, over all its attempts. Writer: web."""

    job = models.OneToOneField(
        "statestore.Job", on_delete=models.CASCADE, primary_key=True, related_name="application_master"
    )
    attempt = models.SmallIntegerField(default=0)  # that registered last; 0: none has
    registered_at = models.DateTimeField(null=True)
    tracking = models.JSONField(null=True)  # port and path of its page, as the last attempt to register named it
    # How the job is to end.
    verdict = models.SmallIntegerField(choices=[(s.value, s.name) for s in JobState], null=True)
    message = models.TextField(blank=True)


class MasterAsk(models.Model):
    """Containers of one kind that an application master wants. Writer: web, for the master.

    ``target`` is absolute: how many containers over the ask's whole life, so
    that a repeated call changes nothing. The ask is a task group of its job,
    numbered ``no``, whose row the home RM writes. ``spec`` never changes.
    """

    pk = models.CompositePrimaryKey("job_id", "no")
    job = models.ForeignKey("statestore.Job", on_delete=models.CASCADE, related_name="master_asks", db_index=False)
    no = models.SmallIntegerField()
    name = models.CharField(max_length=63)
    spec = models.JSONField()  # as a group of a job's specification; ``held``: granted first, launched later
    target = models.BigIntegerField()
    version = models.IntegerField(default=1)  # rises with every change of the target

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="one_master_ask_of_a_name")]


class MasterLaunch(models.Model):
    """What a container that was granted first is to run. Writer: web, once, for the master."""

    container_id = models.BigIntegerField(primary_key=True)
    job = models.ForeignKey("statestore.Job", on_delete=models.CASCADE, related_name="+")
    spec = models.JSONField()
    spec_bytes = models.IntegerField(db_default=0)  # of its text and its ask's, and so of its template


class MasterEvent(models.Model):
    """What the master is told: grants, starts, ends, warnings. Writer: the job's home RM, in its round.

    ``seq`` has no gaps within a job. The oldest go when there are very many
    (``controlplane.rm.adapters.masterrows.KEPT``).
    """

    pk = models.CompositePrimaryKey("job_id", "seq")
    job = models.ForeignKey("statestore.Job", on_delete=models.CASCADE, related_name="+", db_index=False)
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    kind = models.CharField(max_length=16)
    body = models.JSONField()
