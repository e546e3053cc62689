"""The queues of the policy in force: their limits in units of the federation, their use, what they hold."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import rules
from django.db.models import Sum

from controlplane.accounts.models import User
from controlplane.accounts.rights import level_in
from controlplane.statestore import bus
from controlplane.statestore.capacities import DEFAULT, R, resolve
from controlplane.statestore.models import Node, Queue, SubCluster
from controlplane.statestore.nodesets import capacity_of
from controlplane.statestore.queries.looks import shared
from controlplane.statestore.queries.ownuse import JobCounts, OwnUse, own_use
from controlplane.statestore.queries.paging import Cursor, Page, page
from scheduler.core.nodeselection import Partition
from wire.resources import AXES
from wire.states import LIVE_NODE_MAX
from wire.summary import Summary

from .jobcounts import job_counts
from .sight import See, Sight, sight
from .tree import PolicyTree, in_force

Json = dict[str, Any]
PARTITIONS_FRESH_S = 10.0
_SHOWN = (
    "open_to_all", "stopped", "leaf", "weight", "ordering", "preemptable", "user_maximum", "max_running_jobs",
    "max_running_jobs_per_user", "max_live_jobs_per_user", "max_live_tasks_per_user", "max_live_mib_per_user",
    "max_am_share", "max_priority", "default_priority", "default_partition",
)  # fmt: skip


@dataclass(slots=True)
class _Known:
    """What this process has read last; each is replaced as a whole.

    fixed: of queues that were asked for, by position in the tree, what changes with it and with these capacities only.
    """

    partitions: tuple[float, tuple[Partition, ...], dict[str, np.ndarray]] = (0.0, (), {})
    fixed: tuple[PolicyTree | None, dict[str, bytes], dict[int, Json]] = (None, {}, {})


_known = _Known()


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """contains: what the path does, in any case. may_submit: the account may. whole: it sees all that is in it."""

    contains: str = ""
    may_submit: bool = False
    whole: bool = False


def queues(user: User, most: int | None = None) -> list[Json]:
    """Every queue that the account sees, with its limits, use and jobs, summed over sub-clusters.

    most: no more than so many, the highest in the tree first. Of a queue that
    is merely open to all, use and jobs are the account's own. A few queries,
    most of them shared with other accounts' looks.
    """
    tree = in_force()
    if tree is None:
        return []
    seen = sight(user, tree)
    rows = _listed(user, tree, seen, QueueFilter())
    if most is not None:
        rows = sorted(sorted(rows, key=lambda at: tree.rows[at].path.count("."))[:most])
    return _shown(user, tree, seen, rows)


def queue_page(user: User, at: Cursor, size: int, wanted: QueueFilter) -> Page:
    """Some of the same, in the tree's order; the cursors hold as long as the policy's version is in force."""
    tree = in_force()
    if tree is None:
        return Page([])
    seen = sight(user, tree)
    rows = _listed(user, tree, seen, wanted)
    if at.key:
        rows = [row for row in rows if (row < at.key[0] if at.back else row > at.key[0])]
    if at.back:
        rows.reverse()
    rows = rows[: size + 1]
    found = page(rows, [(row,) for row in rows], size, at)
    return replace(found, results=_shown(user, tree, seen, found.results))


def _listed(user: User, tree: PolicyTree, seen: Sight, wanted: QueueFilter) -> list[int]:
    """Positions of the queues that the account sees more of than the name, and that are wanted."""
    least, text = int(See.WHOLE if wanted.whole else See.OWN), wanted.contains.lower()
    may_submit = _submits_to(user, seen)
    return [
        at
        for at in np.array(seen.rows, np.int64)[seen.see[seen.rows] >= least].tolist()
        if text in tree.rows[at].path.lower() and (not wanted.may_submit or may_submit(tree.rows[at]))
    ]


def _shown(user: User, tree: PolicyTree, seen: Sight, rows: list[int]) -> list[Json]:
    whole_ones = {tree.rows[at].path for at in rows if seen.see[at] == See.WHOLE}
    use, jobs = _use(whole_ones) if whole_ones else {}, _jobs(tree)
    own = None if seen.everything else own_use(user.pk)
    may_submit = _submits_to(user, seen)
    return [
        fixed | _moving(may_submit, tree.rows[at], *_held(tree, seen, own, at, use, jobs))
        for at, fixed in zip(rows, _fixed(tree, tuple(rows)), strict=True)
    ]


def how_many(user: User) -> int:
    """As many as ``queues`` lists of them all. No query of its own."""
    tree = in_force()
    return len(_listed(user, tree, sight(user, tree), QueueFilter())) if tree else 0


def _limits(tree: PolicyTree, amounts: dict[str, np.ndarray]) -> dict[str, tuple[list[list[int]], list[list[int]]]]:
    """By partition what each queue of the tree is guaranteed and may hold at most: (q, R), as lists."""
    found = {}
    for name, capacity in amounts.items():
        guaranteed, maximum = resolve(tree.hierarchy, tree.limits[name], capacity)
        found[name] = guaranteed.tolist(), maximum.tolist()
    return found


def _held(
    tree: PolicyTree, seen: Sight, own: OwnUse | None, at: int, use: dict[str, dict[str, int]], jobs: list[JobCounts]
) -> tuple[dict[str, int], JobCounts]:
    """(what is used and waits, the jobs) as the account may know it."""
    path = tree.rows[at].path
    if own is None or seen.see[at] == See.WHOLE:
        return use[path], jobs[at]
    used = sum(own.used.get(path, {}).values(), np.zeros(R, np.int64))
    counts = {"containers": own.containers.get(path, 0), "pending": own.pending.get(path, 0)}
    return defaultdict(int, dict(zip(AXES, used.tolist(), strict=True)) | counts), own.jobs.get(path, JobCounts())


def capacities(partitions: tuple[Partition, ...]) -> dict[str, np.ndarray]:
    """Capacity of each partition over all sub-clusters: (R,) int64. With partitions up to ten seconds old."""
    live = Node.objects.filter(state__lte=LIVE_NODE_MAX)
    if not partitions:
        sums = live.aggregate(**{f"sum_{axis}": Sum(axis) for axis in AXES})
        return {DEFAULT: np.array([sums[f"sum_{axis}"] or 0 for axis in AXES], np.int64)}
    at, those, found = _known.partitions
    if those != partitions or time.monotonic() - at > PARTITIONS_FRESH_S:
        nodes = live.values_list("name", "rack", "labels", *AXES)
        found = capacity_of(partitions, nodes.iterator(chunk_size=5000))
        _known.partitions = (time.monotonic(), partitions, found)
    return found


@shared
def _told() -> tuple[list[Summary], dict[str, int]]:
    """What the RMs last said, and by it how many containers wait in each queue and below it."""
    found = list(bus.summaries(list(SubCluster.objects.values_list("pk", flat=True))).values())
    return found, bus.waiting(found)


def _use(paths: set[str]) -> dict[str, dict[str, int]]:
    """What each of these queues uses and how many containers wait there, or below it, as the RMs last said."""
    use: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    summaries, pending = _told()
    for summary in summaries:
        for path in summary.queues.keys() & paths:
            for axis, amount in zip(AXES, summary.queues[path].amounts, strict=True):
                use[path][axis] += amount
    for path in pending.keys() & paths:
        use[path]["pending"] = pending[path]
    return use


@shared
def _jobs(tree: PolicyTree) -> list[JobCounts]:
    return [JobCounts(*row) for row in job_counts(tree).tolist()]


@shared
def _fixed(tree: PolicyTree, rows: tuple[int, ...]) -> list[Json]:
    """Of these queues what is the same for all who see them. Nobody changes it."""
    amounts = capacities(tree.partitions)
    of = {name: capacity.tobytes() for name, capacity in amounts.items()}
    known_tree, known_of, known = _known.fixed
    if known_tree is not tree or known_of != of:
        known = {}
        _known.fixed = tree, of, known
    if missing := [at for at in rows if at not in known]:
        limits = _limits(tree, amounts)
        known.update({at: _described(tree.rows[at], at, limits) for at in missing})
    return [known[at] for at in rows]


def _described(q: Queue, at: int, limits: dict[str, Any]) -> Json:
    each = {name: {"guaranteed": g[at], "maximum": m[at]} for name, (g, m) in limits.items()}
    total = {side: [sum(e[side][i] for e in each.values()) for i in range(R)] for side in ("guaranteed", "maximum")}
    return {
        "path": q.path,
        "parent": q.parent_path or None,
        "policy_version": q.version_id,
        **{name: getattr(q, name) for name in _SHOWN},
        "guaranteed": _amounts(total["guaranteed"]),
        "maximum": _amounts(total["maximum"]),
        "user_limit": _amounts([int(m * q.user_maximum + 1e-6) for m in total["maximum"]]),
        "partitions": {
            name: {side: _amounts(e[side]) for side in ("guaranteed", "maximum")} for name, e in each.items() if name
        },
    }


def _moving(may_submit: Callable[[Queue], bool], q: Queue, use: dict[str, int], jobs: JobCounts) -> Json:
    return {
        "state": "running" if not q.stopped else "draining" if jobs.live else "stopped",
        "used": {axis: use[axis] for axis in AXES} | {"containers": use["containers"]},
        "pending": use["pending"],
        "live_jobs": jobs.live,
        "running_jobs": jobs.running,
        "may_submit": may_submit(q),
    }


def _submits_to(user: User, seen: Sight) -> Callable[[Queue], bool]:
    """Whether the account may submit to a queue. What depends on no queue is asked once."""
    if not rules.has_perm("jobs.submit", user):
        return lambda q: False

    def may(q: Queue) -> bool:
        return not q.stopped and q.leaf and (q.open_to_all or seen.everything or level_in(user, q.path) is not None)

    return may


def _amounts(values: list[int]) -> dict[str, int]:
    return dict(zip(AXES, values, strict=True))
