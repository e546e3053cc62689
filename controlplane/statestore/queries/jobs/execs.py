"""Containers as people run commands in them, and whether one may go on."""

from dataclasses import dataclass

import rules

from controlplane.accounts import rights
from controlplane.accounts.models import User
from controlplane.statestore.models import Container, ContainerHistory, Exec, Job

from . import listing


@dataclass(frozen=True, slots=True)
class KnownContainer:
    """A container of a job that somebody may see. live: None when it has ended."""

    job: Job
    live: Container | None


def of(user: User, container_id: int) -> KnownContainer | None:
    """The container if ``user`` may see its job; at most three queries."""
    live = Container.objects.filter(pk=container_id).first()
    found = live or ContainerHistory.objects.filter(pk=container_id).only("job_id").first()
    job = listing.find(user, found.job_id) if found else None
    return KnownContainer(job, live) if job else None


def why_not(begun: Exec) -> str:
    """Why an exec may not go on, in words; empty when it may. At most three queries."""
    user = rights.accounts([begun.user_id]).get(begun.user_id)
    job = Job.objects.filter(pk=begun.job_id).only("owner_id", "queue").first()
    if user is None or job is None or not rules.has_perm("jobs.change", user, job):
        return "your account may not run commands in this container any more"
    if not Container.objects.filter(pk=begun.container_id, node_id=begun.node_id).exists():
        return "the container has ended"
    return ""
