"""A recorded history, written by hand: jobs with their attempts as RMs leave them."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.statestore.models import Container, ContainerHistory, Job, Node, SubCluster, Task, TaskGroup
from wire.ids import container_id
from wire.states import ContainerState, GroupState, JobState, TaskState

END = timezone.now().replace(microsecond=0) - dt.timedelta(minutes=1)
BEGIN = END - dt.timedelta(hours=1)
_counter = iter(range(1, 1_000_000))


def at(seconds: float) -> dt.datetime:
    """So long after the window's beginning."""
    return BEGIN + dt.timedelta(seconds=seconds)


@dataclass(frozen=True)
class Attempt:
    """Times s after the window's beginning. ended None: it still runs."""

    index: int
    started: float
    ended: float | None
    state: ContainerState = ContainerState.SUCCEEDED
    group: int = 0
    attempt: int = 1


def job(
    home: SubCluster, owner: User, submitted: float, groups: list[dict[str, Any]], state: JobState = JobState.SUCCEEDED,
    ended: float | None = None, queue: str = "root.default", kind: str = "batch", **fields: Any,
) -> Job:  # fmt: skip
    """groups: as in a job's spec."""
    plain = {"retries": 0, "after": [], "resources": {"memory_mib": 512, "vcores_milli": 1000, "gpus": 0}}
    specs = [plain | {"name": f"g{no}", "count": 1, "command": ["true"]} | group for no, group in enumerate(groups)]
    row = Job.objects.create(
        name="recorded", kind=kind, queue=queue, owner=owner, home=home, submitted_at=at(submitted), state=state,
        spec={"queue": queue, "groups": specs if kind != "application" else []},
        finished_at=None if ended is None else at(ended), **fields,
    )  # fmt: skip
    TaskGroup.objects.bulk_create(
        [
            TaskGroup(job=row, no=no, name=g["name"], count=g["count"], state=10, **g["resources"])
            for no, g in enumerate(specs)
        ]
    )
    return row


def attempts(row: Job, *ran: Attempt) -> None:
    """Containers, ended ones in the history; tasks of those that decided."""
    live, ended, tasks = [], [], []
    for each in ran:
        values = {
            "id": container_id(row.home_id, 1, next(_counter)), "sub_cluster_id": row.home_id, "job_id": row.pk,
            "group_no": each.group, "task_index": each.index, "attempt": each.attempt, "node_id": 1,
            "state": each.state, "epoch": 1, "memory_mib": 512, "vcores_milli": 1000, "gpus": 0,
            "allocated_at": at(each.started), "started_at": at(each.started),
        }  # fmt: skip
        if each.ended is None:
            live.append(Container(**values | {"state": ContainerState.RUNNING}))
            continue
        more = {"finished_at": at(each.ended), "exit_code": 0, "reason": 0, "peak_memory_mib": 1, "cpu_ms": 1}
        ended.append(ContainerHistory(**values, **more))
        if each.state in (ContainerState.SUCCEEDED, ContainerState.KILLED):
            tasks.append(
                Task(
                    submitted_on=row.submitted_at.date(), job_id=row.pk, group_no=each.group, index=each.index,
                    state=TaskState(int(each.state)), attempts=each.attempt, failures=0, container_id=values["id"],
                    exit_code=0, finished_at=at(each.ended),
                )
            )  # fmt: skip
    Container.objects.bulk_create(live)
    ContainerHistory.objects.bulk_create(ended)
    Task.objects.bulk_create(tasks)


def nodes(sub: SubCluster, count: int, vcores_milli: int = 4000, **fields: Any) -> None:
    size = {"memory_mib": 16_384, "vcores_milli": vcores_milli, "state": 1} | fields
    Node.objects.bulk_create(
        [Node(sub_cluster=sub, name=f"{sub.name}-{n}", rack=f"r{n % 2}", **size) for n in range(1, count + 1)]
    )


def busy_hour(home: SubCluster, owner: User, jobs: int, queues: tuple[str, ...] = ("root.default",)) -> None:
    """So many jobs of four tasks, one after the other, each task longer than the time between two jobs."""
    gap = 3000 / jobs
    for n in range(jobs):
        row = job(home, owner, n * gap, [{"count": 4}], ended=n * gap + 60, queue=queues[n % len(queues)])
        attempts(row, *(Attempt(i, n * gap + 1, n * gap + 31 + i) for i in range(4)))


def live(
    home: SubCluster, who: User, groups: list[dict[str, Any]], runs: list[tuple[int, int, Node]] | None = None,
    ran_s: float = 100.0, **fields: Any,
) -> int:  # fmt: skip
    """A job that is live now. runs: (group, how many, where)."""
    ago = (timezone.now() - BEGIN).total_seconds()
    state = JobState.RUNNING if runs else JobState.ADMITTED
    row = job(home, who, ago - 7200, groups, state, **fields)
    TaskGroup.objects.filter(job=row).update(state=GroupState.RUNNING)
    began, made, at = timezone.now() - dt.timedelta(seconds=ran_s), [], dict[int, int]()
    for group, count, node in runs or []:
        for _ in range(count):
            index = at[group] = at.get(group, -1) + 1
            made.append(Container(
                id=container_id(node.sub_cluster_id, 1, next(_counter)), sub_cluster_id=node.sub_cluster_id,
                job_id=row.pk, group_no=group, task_index=index, attempt=1, node_id=node.pk,
                state=ContainerState.RUNNING, epoch=1, memory_mib=512, vcores_milli=1000, gpus=0, allocated_at=began,
                started_at=began,
            ))  # fmt: skip
    Container.objects.bulk_create(made)
    return row.pk
