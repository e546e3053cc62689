"""What would become of a job that is submitted now: where it would go, what keeps it waiting, when it could start.

By what is known here and now: nodes and what runs on them, the limits of the
policy in force, what leaders said last. The home decides for good, and what
cannot be known from here is said to be unknown.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q

from contract.jobspec import JobSpec
from controlplane.accounts.models import User
from controlplane.accounts.rights import level_in, sees_everything
from controlplane.router import cluster
from controlplane.statestore.models import Job, Node, Queue, SubCluster
from controlplane.statestore.queries.drains import rooms
from controlplane.statestore.queries.drains.headroom import headroom
from controlplane.statestore.queries.nodes.ends import running
from controlplane.statestore.queries.queues.standing import standing
from scheduler.core.nodeselection import NodeColumns
from scheduler.explain.amounts import duration_text
from scheduler.explain.forecast import RoomForecast, expected_ends, units_that_fit
from scheduler.explain.limits import NO_NODES
from scheduler.federation.feasible import GroupNeed, Verdict
from scheduler.federation.routing import HomeCandidate, RoutedJob
from wire.resources import AXES
from wire.states import JobState, NodeState

Json = dict[str, Any]
KINDS_MAX = 32  # of a job's containers: to look at more takes longer than people wait
NOBODY_KNOWS = "nobody can say when one does"
_SOME = "nobody can say when others do"
_ROUND_S = 1.0  # a home that has room places within one


class Waits(NamedTuple):
    """What of the queue is before a job. jobs: that have not begun; limits: that keep it from beginning, in words."""

    jobs: int
    limits: list[str]


def outlook(user: User, spec: JobSpec, needs: Sequence[GroupNeed], job: RoutedJob) -> Json:
    """As ``contract.jobs.Outlook``. job: with the verdict of each sub-cluster."""
    decision = cluster.foretold(job)
    waits = _waits(user, spec)
    limits = [*waits.limits, *_taken_by_nobody(decision.home)]
    states = dict(SubCluster.objects.values_list("pk", "state"))
    whole = sees_everything(user) or level_in(user, spec.queue) is not None
    return {
        "home": decision.home.name if decision.home else None,
        "why": decision.why,
        "sub_clusters": [_fit(c, job.verdicts.get(c.id), states.get(c.id, "")) for c in cluster.view().candidates],
        "admitted": not limits,
        "limits": limits,
        "jobs_ahead": waits.jobs if whole else None,
        "estimate": _estimate(spec, needs, job, decision.home, waits),
    }


def _taken_by_nobody(home: HomeCandidate | None) -> list[str]:
    """What keeps a job from beginning where it would go, whatever the limits."""
    if home is None:
        return ["no sub-cluster takes it now"]
    return [] if home.nodes_up else [NO_NODES]


def _fit(candidate: HomeCandidate, verdict: Verdict | None, state: str) -> Json:
    fits = verdict is not None and verdict.feasible
    why = [] if candidate.accepts else [f"it is {state or 'closed'} and takes no new jobs"]
    if not fits:
        why.append(_lacks(verdict) if verdict else "it has no node in service")
    elif not candidate.nodes_up:
        why.append("no node takes containers now")
    return {"sub_cluster": candidate.name, "fits": fits, "why": "; ".join(why)}


def _lacks(verdict: Verdict) -> str:
    lacking = verdict.groups - verdict.held
    return verdict.why + (f"; {lacking} of its {verdict.groups} groups do not fit" if lacking > 1 else "")


def _waits(user: User, spec: JobSpec) -> Waits:
    queues = cluster.view().queues
    leaf = queues[spec.queue]
    before = Job.objects.filter(queue=leaf.path, state__lt=JobState.RUNNING)
    if leaf.ordering == Queue.Ordering.PRIORITY:
        before = before.filter(priority__gte=spec.priority or 0)
    limits = []
    begun = Job.objects.filter(state__in=(JobState.ADMITTED, JobState.RUNNING, JobState.KILLING))
    at: str | None = spec.queue
    while at in queues:
        most = queues[at].max_running_jobs
        if most is not None and begun.filter(Q(queue=at) | Q(queue__startswith=f"{at}.")).count() >= most:
            limits.append(f"{at} runs as many jobs as it may at once, {most:,}")
        at = queues[at].parent_path
    own = leaf.max_running_jobs_per_user
    if own is not None and begun.filter(queue=leaf.path, owner_id=user.pk).count() >= own:
        limits.append(f"you run as many jobs as one may at once in {leaf.path}, {own:,}")
    return Waits(before.count(), limits)


def _estimate(
    spec: JobSpec, needs: Sequence[GroupNeed], job: RoutedJob, home: HomeCandidate | None, waits: Waits
) -> Json:
    """Of its first container, in seconds from now, as ``contract.waiting.WaitEstimate``."""
    held = _held_back(job, home, waits)
    if held or home is None:
        return _unknown(held)
    first = [need for need, group in zip(needs, spec.groups, strict=True) if not group.after]
    tree = headroom()
    allowed = [n for n in first if tree.units(home.id, n.partition, spec.queue, n.shape, n.at_once) >= n.at_once]
    if not allowed:
        return _unknown(f"{spec.queue} or a queue above it holds all that it may; nobody can say when that ends.")
    found = _room(home, allowed)
    if found is None:
        return _unknown(f"No nodes of {home.name} that take containers now could hold it, were they empty; {_SOME}.")
    earliest, latest = found
    if waits.jobs or _others_wait(home, {need.partition for need in allowed}):
        latest = None
    return {"earliest_s": earliest, "latest_s": latest, "text": _text(home.name, earliest, latest)}


def _text(home: str, earliest: float | None, latest: float | None) -> str:
    if earliest is None:
        return f"{home} has no room for it now; of what runs there nobody knows when enough ends."
    when = f"when {home} has room for it"
    if latest is None:
        first = f"In {duration_text(earliest)}" if earliest >= 1 else "At once"
        return f"{first} at the earliest, {when}; others wait there, or run longer than they said."
    if not earliest:
        return f"Within a second: {home} has room for it."
    return f"In about {duration_text(latest)}, {when}." if latest >= 1 else f"Within a second, {when}."


def _held_back(job: RoutedJob, home: HomeCandidate | None, waits: Waits) -> str:
    """What keeps it from being looked at by a home at all; empty where nothing does."""
    if not any(verdict.held for verdict in job.verdicts.values()):
        return "It never starts as things are: no node in service could hold it. It waits until one comes."
    if home is None:
        return f"No sub-cluster takes it now; {NOBODY_KNOWS}."
    if not home.led:
        return f"Nobody leads {home.name} at the moment; it starts once somebody does."
    if not home.nodes_up:
        return f"{NO_NODES.capitalize()}; {NOBODY_KNOWS}."
    if waits.limits:
        return f"It begins when jobs end: {waits.limits[0]}; nobody can say when."
    return ""


def _unknown(text: str) -> Json:
    return {"earliest_s": None, "latest_s": None, "text": text}


def _room(home: HomeCandidate, needs: Sequence[GroupNeed]) -> tuple[float | None, float | None] | None:
    """In how many seconds its nodes have room for the first containers of one of these groups, by what runs there.

    At the earliest, and if what has outlived its estimate goes on; each None where nobody knows. None where no open
    node could hold them if it were empty. Two queries, three where there is no room now. Of more than
    ``KINDS_MAX`` kinds of containers the smallest are looked at.
    """
    of_home = Node.objects.filter(sub_cluster_id=home.id, state=NodeState.UP, duty=Node.Duty.IN_SERVICE)
    nodes = list(of_home.values("id", "name", "rack", "labels", *AXES))
    used = rooms.used("node_id", [node["id"] for node in nodes])
    there = rooms.divided(cluster.view().partitions, nodes, used)
    free = np.array([room.free for room in there], np.int64).reshape(-1, len(AXES))
    smallest = sorted(set(needs), key=lambda n: (n.at_once, n.shape))[:KINDS_MAX]
    whole = np.array([[node[axis] for axis in AXES] for node in nodes], np.int64).reshape(free.shape)
    usable = zip(smallest, _usable(smallest, there), strict=True)
    may = [(n, at) for n, at in usable if units_that_fit(whole[at], np.array(n.shape)).sum() >= n.at_once]
    if not may:
        return None
    if any(units_that_fit(free[at], np.array(need.shape)).sum() >= need.at_once for need, at in may):
        return 0.0, _ROUND_S
    found = running(home.id)
    if found is None:
        return None, None
    row = {node["id"]: at for at, node in enumerate(nodes)}
    on = np.array([row.get(number, -1) for number in found.node.tolist()], np.int64)
    here = on >= 0
    ends, late = expected_ends(found.started[here], found.duration[here], found.now)
    times = []
    for known in (ends, np.where(late, np.inf, ends)):
        forecast = RoomForecast(on[here], found.shape[here], known, free, found.now)
        first = [forecast.units(np.array(n.shape, np.int64), usable, n).when(n.at_once) for n, usable in may]
        times.append(min((round(t - found.now, 1) for t in first if t is not None), default=None))
    return times[0], times[1]


def _usable(needs: Sequence[GroupNeed], there: list[rooms.Room]) -> Iterator[np.ndarray]:
    """For each, which of the rooms it may use: (n,) bool."""
    columns = NodeColumns((room.name, room.rack, room.labels) for room in there)
    inside: dict[str, np.ndarray] = {}
    for need in needs:
        if need.partition not in inside:
            ids = set(map(id, rooms.of_partition(there, need.partition)))
            inside[need.partition] = np.array([id(room) in ids for room in there], np.bool_)
        allowed = columns.of_ask(need.node_labels, need.strict, need.nodes, need.racks)
        yield allowed & inside[need.partition]


def _others_wait(home: HomeCandidate, partitions: set[str]) -> bool:
    """Whether anything waits for nodes of these partitions there, by what its leader said last."""
    now = standing()
    at = now.place(home.name) if now else None
    if now is None or at is None:
        return False
    return any(now.parts[name].own_pending[at].any() for name in partitions if name in now.parts)
