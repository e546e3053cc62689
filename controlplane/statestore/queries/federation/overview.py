"""The whole federation at a glance."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count

from controlplane import clock
from controlplane.accounts.models import User
from controlplane.accounts.rights import access, is_tenant, sees_everything, visible_jobs_q
from controlplane.statestore.models import Job
from controlplane.statestore.queries.ownuse import own_use
from controlplane.statestore.queries.queues.listing import how_many, queues
from controlplane.statestore.queries.queues.tree import in_force
from controlplane.statestore.queries.subclusters.listing import sub_clusters
from wire.resources import AXES
from wire.states import JobState, NodeState

Json = dict[str, Any]
QUEUES_MOST = 100  # of the overview; all of them stand under their own address


def overview(user: User) -> Json:
    """The whole federation at a glance: the highest queues only, jobs that ``user`` may see.

    ``scope``: ``own`` where what is allocated, used and waiting is the account's own part. As many queries
    whatever the fleet's size, most of them shared with other accounts' looks.
    """
    subs = sub_clusters(user)
    live = _live_jobs(user)
    tree = in_force()
    return {
        "at": clock.unix(),
        "scope": "all" if sees_everything(user) else "own",
        "policy_version": tree and tree.version,
        "sub_clusters": subs,
        "duties": {
            what: sum(sub["duties"][what] for sub in subs) for what in ("open", "closed", "cordoned", "draining")
        },
        "nodes": {s.name.lower(): sum(sub["nodes"][s.name.lower()] for sub in subs) for s in NodeState},
        "capacity": _total(subs, "capacity", AXES),
        "allocated": _total(subs, "allocated", AXES),
        "used": _total(subs, "used", ("memory_mib", "cpu_milli")),
        "pending": _total(subs, "pending", ("containers", *AXES)),
        "live_containers": sum(sub["live_containers"] for sub in subs),
        "jobs": live,
        "queues": queues(user, QUEUES_MOST),
        "queues_left_out": max(0, how_many(user) - QUEUES_MOST),
    }


def _total(subs: list[Json], what: str, axes: Iterable[str]) -> dict[str, int]:
    return {axis: sum(sub[what][axis] for sub in subs) for axis in axes}


def _live_jobs(user: User) -> dict[str, int]:
    """Live jobs by state; served by the index of live jobs, so history does not slow it."""
    counted = dict.fromkeys((s.name for s in JobState if s < JobState.SUCCEEDED), 0)
    counts: Iterable[tuple[int, int]]
    if is_tenant(user) and not access(user):
        counts = own_use(user.pk).states.items()
    else:
        live = Job.objects.filter(visible_jobs_q(user), state__lt=JobState.SUCCEEDED)
        counts = live.values_list("state").annotate(n=Count("id"))
    for state, n in counts:
        counted[JobState(state).name] = n
    return counted
