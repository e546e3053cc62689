"""Containers whose logs somebody may read, and whether more is to come of them."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection

from controlplane.accounts.models import User
from controlplane.accounts.rights import visible_jobs_q
from controlplane.statestore.models import Container, ContainerHistory, Job

LATE = dt.timedelta(seconds=3)  # how long after a container's end its last pieces may still arrive


@dataclass(frozen=True, slots=True)
class LogSource:
    """A container whose logs one may read."""

    container_id: int
    sub_cluster_id: int
    node_id: int
    day: dt.date  # of its allocation: no piece is from before
    live: bool  # when it was looked up


def source(user: User, container_id: int) -> LogSource | None:
    """The container if ``user`` may see its job; at most three queries."""
    fields = ("pk", "sub_cluster_id", "node_id", "allocated_at", "job_id")
    live = Container.objects.filter(pk=container_id).values(*fields).first()
    found: dict[str, Any] | None = live or ContainerHistory.objects.filter(pk=container_id).values(*fields).first()
    if found is None or not Job.objects.filter(visible_jobs_q(user), pk=found["job_id"]).exists():
        return None
    day = found["allocated_at"].date()
    return LogSource(container_id, found["sub_cluster_id"], found["node_id"], day, live is not None)


# Both moments are the database's: the clocks of web processes are compared with nothing.
_SETTLED = """SELECT w.id FROM unnest(%(containers)s::bigint[]) AS w(id)
 WHERE NOT EXISTS (SELECT FROM statestore_container c WHERE c.id = w.id)
   AND COALESCE((SELECT max(h.finished_at) < statement_timestamp() - %(late)s FROM statestore_container_history h
                  WHERE h.id = w.id), true)"""


def settled(containers: Collection[int]) -> set[int]:
    """Those of these containers of which no further piece is to be expected. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLED, {"containers": list(containers), "late": LATE})
        return {container for (container,) in cursor.fetchall()}
