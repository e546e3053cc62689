"""What runs of a service now, and what was asked of it since it was submitted."""

from typing import Any

from controlplane.statestore.models import Container, Job, TaskGroup

Attempt = tuple[int, int]


def groups(job: Job) -> dict[str, tuple[int, int]]:
    """Its groups' numbers, and how many tasks each has, by name. One query."""
    found = TaskGroup.objects.filter(job_id=job.pk).order_by("no").values_list("name", "no", "count")
    return {name: (no, count) for name, no, count in found}


def live(job: Job, group_no: int, task: int | None = None) -> list[Attempt]:
    """Tasks of the group, or one of them, with their attempts that have not ended, by task. One query."""
    found = Container.objects.filter(job_id=job.pk, group_no=group_no)
    found = found if task is None else found.filter(task_index=task)
    return list(found.order_by("task_index", "attempt").values_list("task_index", "attempt"))


def restarting(services: dict[str, Any] | None, group_no: int) -> int:
    """How many tasks of the group are to start again and have not yet. services: of the job's row."""
    said = (services or {}).get(f"{group_no}", {})
    return sum(count for part in ("now", "queue") for _, count, _ in said.get(part, ()))


def as_scaled(spec: dict[str, Any], services: dict[str, Any] | None) -> dict[str, Any]:
    """The specification with as many tasks in each group as it has by now."""
    if not services:
        return spec
    counts = {int(no): said["count"] for no, said in services.items()}
    groups = [group | {"count": counts.get(no, group["count"])} for no, group in enumerate(spec["groups"])]
    return spec | {"groups": groups}
