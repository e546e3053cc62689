"""The live containers of one node, as somebody may see them."""

from typing import Any

from controlplane.accounts.models import User
from controlplane.accounts.rights import visible_jobs_q
from controlplane.statestore import bus
from controlplane.statestore.models import Job, Node, TaskGroup
from controlplane.statestore.queries import live
from controlplane.statestore.queries.paging import Cursor, Page, page
from wire.ids import format_container
from wire.resources import gpu_ids
from wire.states import ContainerState

Json = dict[str, Any]


def list_page(user: User, node_id: int, at: Cursor, size: int) -> Page:
    """One page by number: those of jobs that ``user`` may see. At most four queries."""
    node = Node.objects.filter(pk=node_id).values("name", "sub_cluster_id", "sub_cluster__name").first()
    if node is None:
        return Page([])
    rows = list(live.on_node(node["sub_cluster_id"], node_id).order_by("pk").values())
    jobs = {j.pk: j for j in _jobs(user, {row["job_id"] for row in rows})}
    seen = [row for row in rows if row["job_id"] in jobs]
    if at.key:
        seen = [row for row in seen if (row["id"] < at.key[0] if at.back else row["id"] > at.key[0])]
    if at.back:
        seen.reverse()
    seen = seen[: size + 1]
    groups = _groups(seen)
    samples = bus.usage(node["sub_cluster_id"], [row["id"] for row in seen])
    shown = [_container(row, jobs[row["job_id"]], groups, samples.get(row["id"])) for row in seen]
    return page(shown, [(row["id"],) for row in seen], size, at)


def _jobs(user: User, ids: set[int]) -> list[Job]:
    return list(Job.objects.filter(visible_jobs_q(user), pk__in=ids).select_related("owner").defer("spec"))


def _groups(rows: list[Json]) -> dict[tuple[int, int], str]:
    of = TaskGroup.objects.filter(job_id__in={row["job_id"] for row in rows})
    return {(job, no): name for job, no, name in of.values_list("job_id", "no", "name")}


def _container(row: Json, job: Job, groups: dict[tuple[int, int], str], sample: bus.Sample | None) -> Json:
    return {
        "id": format_container(row["id"]),
        "job": job.pk,
        "job_name": job.name,
        "queue": job.queue,
        "owner": job.owner.username,
        "group": groups.get((job.pk, row["group_no"]), str(row["group_no"])),
        "index": row["task_index"],
        "attempt": row["attempt"],
        "state": ContainerState(row["state"]).name,
        "allocated_at": row["allocated_at"],
        "started_at": row["started_at"],
        "memory_mib": row["memory_mib"],
        "vcores_milli": row["vcores_milli"],
        "gpus": gpu_ids(row["gpus"]),
        "used_memory_mib": sample.memory_mib if sample else None,
    }
