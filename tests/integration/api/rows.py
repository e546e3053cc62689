"""Rows that only RMs write, put there by hand."""

import datetime as dt
import gzip
from typing import Any

from django.db import connection
from django.utils import timezone

from controlplane.statestore.models import (
    Container,
    ContainerHistory,
    Job,
    JobEvent,
    PolicyVersion,
    Rollout,
    Simulation,
    SimulationTrace,
    Task,
)
from wire.ids import container_id
from wire.states import ContainerReason, ContainerState, JobState, TaskState

_counter = iter(range(1, 1_000_000))


def container(job: Job, node_id: int, group: int = 0, index: int = 0, attempt: int = 1, **fields: Any) -> Container:
    """A live container on a node."""
    values = {
        "sub_cluster_id": job.home_id,
        "job_id": job.pk,
        "group_no": group,
        "task_index": index,
        "attempt": attempt,
        "node_id": node_id,
        "state": ContainerState.RUNNING,
        "epoch": 1,
        "memory_mib": 256,
        "vcores_milli": 1000,
        "gpus": 0,
        "allocated_at": timezone.now(),
        "started_at": timezone.now(),
    }
    return Container.objects.create(**({"id": container_id(job.home_id, 1, next(_counter))} | values | fields))


def end(
    live: Container,
    state: TaskState = TaskState.SUCCEEDED,
    exit_code: int = 0,
    ago_s: float = 0,
    how: tuple[ContainerState, ContainerReason] | None = None,
) -> None:
    """Move a live container to history as the attempt that decided its task. how: its own end."""
    ended, reason = how or (int(state), 0)
    at = timezone.now() - dt.timedelta(seconds=ago_s)
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH gone AS (DELETE FROM statestore_container WHERE id = %s RETURNING *)
               INSERT INTO statestore_container_history
               SELECT id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, %s, epoch, memory_mib,
                      vcores_milli, gpus, allocated_at, started_at, %s, %s, %s, 12, 345 FROM gone""",
            [live.pk, int(ended), at, exit_code, int(reason)],
        )
    job = Job.objects.get(pk=live.job_id)
    Task.objects.update_or_create(
        submitted_on=job.submitted_at.date(),
        job_id=job.pk,
        group_no=live.group_no,
        index=live.task_index,
        defaults={
            "state": state,
            "attempts": live.attempt,
            "failures": int(state == TaskState.FAILED),
            "container_id": live.pk,
            "exit_code": exit_code,
            "finished_at": at,
        },
    )
    assert ContainerHistory.objects.filter(pk=live.pk).exists()


def finish(job_id: int, state: JobState) -> None:
    Job.objects.filter(pk=job_id).update(state=state, finished_at=timezone.now())


def tell(job_id: int, kind: str, message: str) -> None:
    JobEvent.objects.create(job_id=job_id, at=timezone.now(), kind=kind, message=message)


def no_rollout() -> int:
    """None is under way; the number of one there is not."""
    Rollout.objects.all().delete()
    return 0


def rollout(paused: bool = False) -> Rollout:
    """A version on its way to a sub-cluster."""
    no_rollout()
    version = PolicyVersion.objects.get(active=True)
    now = timezone.now()
    return Rollout.objects.create(
        version=version, from_version=version, state="paused" if paused else "running", created_at=now, stage_at=now,
        stages=[{"sub_clusters": ["west"], "soak_s": 60.0}],
    )  # fmt: skip


def simulation(done: bool = False, **fields: Any) -> Simulation:
    """A what-if question that waits, or one with an answer."""
    now = timezone.now()
    version = PolicyVersion.objects.get(active=True)
    if done:
        fields |= {"state": "done", "ended_at": now, "page": gzip.compress(b"<p>said</p>")}
    return Simulation.objects.create(
        requested_at=now, begins_at=now - dt.timedelta(hours=1), ends_at=now, base=version, document=version.document,
        digest="0" * 64, **fields,
    )  # fmt: skip


TRACE_COLUMNS: dict[str, Any] = {
    "jobs": 1, "containers": 2, "users": 1, "span_s": 60.0, "queues": {"root.default": 1}, "skipped": {},
}  # fmt: skip


def simulation_trace(**fields: Any) -> SimulationTrace:
    """A trace that was handed in, of whose jobs nothing is read."""
    columns = {"name": "jobs.swf", "kind": "swf", "history": b"", "added_at": timezone.now()} | TRACE_COLUMNS | fields
    return SimulationTrace.objects.create(**columns)
