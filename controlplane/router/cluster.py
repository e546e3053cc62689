"""What a submit needs to know of the cluster, read at most every half second per process.

Sub-clusters with load, the queues of the policy in force, and how many live
jobs an account has. All of it may be that old; the home RM decides for good.
"""

import difflib
import heapq
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.accounts.rights import is_operator, level_in
from controlplane.policy.federation import routers
from controlplane.router import intake
from controlplane.router.intake import Live
from controlplane.statestore.capacities import DEFAULT, denied
from controlplane.statestore.errors import Invalid, Unavailable
from controlplane.statestore.models import PolicyVersion, Queue
from controlplane.statestore.nodesets import ordered
from controlplane.statestore.queries.jobs.live import live
from controlplane.statestore.queries.subclusters import places
from controlplane.statestore.queries.subclusters.homes import Home, homes
from scheduler.core.nodeselection import Partition, partition_of_ask
from scheduler.explain.impossible import COMPARED_MAX, meant
from scheduler.federation.feasible import GroupNeed, Verdict
from scheduler.federation.routing import HomeCandidate, RoutedJob, Router, RoutingDecision, route

FRESH_S = 0.5
COUNT_FRESH_S = 2.0
_ALIKE = 0.8  # the ratio of ``difflib`` from which on a queue may have been meant


@dataclass(slots=True)
class ClusterView:
    """One reading. ``queues``: path -> row. ``partitions``: in their order. ``router``: of a queue's path."""

    read_at: float
    version: int | None
    candidates: list[HomeCandidate]
    queues: dict[str, Queue]
    partitions: tuple[Partition, ...]
    router: Callable[[str], Router]


@dataclass(slots=True)
class _Held:
    """What an account has live, by queue."""

    read_at: float
    by_queue: dict[str, Live]


@dataclass(slots=True)
class _State:
    lock: threading.Lock = field(default_factory=threading.Lock)
    view: ClusterView | None = None
    counts: dict[int, _Held] = field(default_factory=dict)


_state = _State()


def forget() -> None:
    """Read everything anew next time."""
    with _state.lock:
        _state.view = None
        _state.counts.clear()


def take_in(version: int) -> None:
    """A policy version was put in force: route by it from now on."""
    with _state.lock:
        if _state.view is None or _state.view.version != version:
            _state.view = _read()


def view() -> ClusterView:
    """The current reading; one thread renews it, at most every ``FRESH_S``."""
    with _state.lock:
        if _state.view is None or time.monotonic() - _state.view.read_at > FRESH_S:
            _state.view = _read()
        return _state.view


def _read() -> ClusterView:
    pk = PolicyVersion.objects.filter(active=True).values_list("pk", flat=True).first()
    known = _state.view
    if known is not None and pk == known.version:  # a version never changes
        queues, partitions, by_path = known.queues, known.partitions, known.router
    else:
        document = PolicyVersion.objects.values_list("document", flat=True).get(pk=pk) if pk else None
        queues = {q.path: q for q in Queue.objects.filter(version_id=pk)} if pk else {}
        partitions, by_path = ordered((document or {}).get("partitions")), routers(document)
    before = {c.id: c for c in known.candidates} if known is not None else {}
    found = [_candidate(h, before.get(h.id)) for h in homes()]
    return ClusterView(time.monotonic(), pk, found, queues, partitions, by_path)


def _candidate(h: Home, before: HomeCandidate | None) -> HomeCandidate:
    """``before``: of the last reading; what was sent there since its leader looked stays counted."""
    found = h.candidate()
    if before is not None and before.read_at == h.at > 0:
        found.demand = before.demand
    return found


def follows_names(queue: str) -> bool:
    """Whether routing in this queue looks at the nodes, racks and labels a job names."""
    return view().router(queue).follows_names


def partition_of(queue: str, wished: str | None) -> str:
    """The partition that an ask of the queue goes to, which may name one (``None``: it does not)."""
    now = view()
    usual = now.queues[queue].default_partition if queue in now.queues else DEFAULT
    return partition_of_ask(now.partitions, wished, usual)


def verdicts(needs: Mapping[int, Sequence[GroupNeed]], *, also_of_one: bool = False) -> dict[int, dict[int, Verdict]]:
    """By job, which sub-clusters could hold its groups; of none where there is one only, which needs no choice."""
    now = view()
    if len(now.candidates) < 2 and not also_of_one:
        return {}
    return places.verdicts(needs, [c.id for c in now.candidates], now.partitions)


def home(job: RoutedJob) -> tuple[HomeCandidate, RoutingDecision]:
    """The sub-cluster that takes this job, and why it.

    ``Invalid`` when the queue's policy rejects jobs, ``Unavailable`` when none
    of those it may use takes any at the moment.
    """
    now = view()
    with _state.lock:
        decision = route(now.candidates, job, now.router(job.queue), random.random())
    if decision.home is not None:
        return decision.home, decision
    _check_final(job, decision)
    raise Unavailable(decision.why, retry_after_s=10)


def foretold(job: RoutedJob) -> RoutingDecision:
    """As ``home`` would decide now, without the job being sent there; its home is ``None`` where none takes it now."""
    now = view()
    candidates = [replace(each, demand=list(each.demand)) for each in now.candidates]
    decision = route(candidates, job, now.router(job.queue), random.random())
    _check_final(job, decision)
    return decision


def _check_final(job: RoutedJob, decision: RoutingDecision) -> None:
    if decision.home is None and decision.final:
        remedy = "use another queue, or ask an operator"
        raise Invalid(f"{job.queue!r} takes no jobs", [FieldError("queue", decision.why, remedy)])


def _may_use(user: User, queue: Queue) -> bool:
    return queue.open_to_all or bool(is_operator(user)) or level_in(user, queue.path) is not None


def close_to(user: User, path: str) -> list[str]:
    """Up to three queues whose path is much like this one, of those that the account may submit to.

    Where these are many, the ones that begin most like it are compared.
    """
    usable = (queue.path for queue in view().queues.values() if queue.leaf and _may_use(user, queue))
    alike = lambda known: -len(os.path.commonprefix((known, path)))  # noqa: E731, RUF071 - letters are meant
    near = heapq.nsmallest(COMPARED_MAX, usable, key=alike)
    return difflib.get_close_matches(path, near, 3, _ALIKE)


def queue_error(user: User, path: str, field_name: str = "queue", *, suggest: bool = True) -> FieldError | None:
    """What keeps this account from submitting to the queue, if anything.

    suggest: name queues that may have been meant, which takes longer than all else.
    """
    queues = view().queues
    queue = queues.get(path)
    if not queues:
        return FieldError(field_name, "no policy is in force, so there are no queues", "ask an operator to publish one")
    if queue is None or not _may_use(user, queue):
        meant = " or ".join(close_to(user, path)) if suggest else ""
        remedy = f"did you mean {meant}? hydractl queues lists yours" if meant else "hydractl queues lists yours"
        return FieldError(field_name, f"there is no queue {path!r} that you may use", remedy)
    if not queue.leaf:
        return FieldError(field_name, f"{path!r} has queues below it", "name one of those")
    if queue.stopped:
        return FieldError(
            field_name, f"{path!r} is stopped and takes no new jobs", "use another queue, or ask an operator"
        )
    return None


def default_priority(path: str) -> int:
    """The priority of a job that names none."""
    queue = view().queues.get(path)
    return queue.default_priority if queue else 0


def priority_error(user: User, path: str, priority: int, field_name: str = "priority") -> FieldError | None:
    """Why this account may not give a job of the queue that priority, if so."""
    queue = view().queues.get(path)
    if queue is None or priority <= queue.max_priority or is_operator(user):
        return None
    return FieldError(
        field_name,
        f"{path!r} allows priorities up to {queue.max_priority}, not {priority}",
        f"use {queue.max_priority} or less, or ask an operator",
    )


def partition_error(path: str, partition: str | None, field_name: str) -> FieldError | None:
    """Why jobs of the queue cannot use that partition (``None``: the queue's own), if so."""
    now = view()
    if partition is None:
        partition = now.queues[path].default_partition if path in now.queues else DEFAULT
    names = {p.name for p in now.partitions}
    if partition and partition not in names:
        known = f"use one of: {', '.join(sorted(names))}" if names else "leave it out: this cluster is not divided"
        remedy = meant(partition, names, known)
        return FieldError(field_name, f"there is no partition {partition!r}", remedy)
    at = path
    while at in now.queues:
        if denied(now.queues[at].capacities, partition):
            where = f"partition {partition!r}" if partition else "the default partition"
            return FieldError(field_name, f"{at!r} may use nothing of {where}", "use another partition or queue")
        at = now.queues[at].parent_path
    return None


def claim_live_jobs(owner_id: int, new: Mapping[str, Live], field_name: str) -> None:
    """Refused when the account's live jobs would be more, have more tasks or say more than they may.

    new: by queue. field_name: what says how much it is. Counted every two seconds, so roughly.
    """
    queues = view().queues
    with _state.lock:
        count = _state.counts.get(owner_id)
        if count is None or time.monotonic() - count.read_at > COUNT_FRESH_S:
            held = {queue: Live(*amounts) for queue, *amounts in live(owner_id)}
            count = _state.counts[owner_id] = _Held(time.monotonic(), held)
        intake.check(count.by_queue, new, queues, field_name)
        for path, more in new.items():
            count.by_queue[path] = count.by_queue.get(path, Live()).plus(more)
