"""One queue: its limits, who may use it, whose jobs hold what, and why each sub-cluster has the share it has."""

from typing import Any

import numpy as np
from django.db.models import Count, F, Q, Sum

from controlplane.accounts.models import QueueAccess, User
from controlplane.statestore import starving
from controlplane.statestore.capacities import DEFAULT, ROOT
from controlplane.statestore.models import Queue, QueueGrant, TaskGroup
from controlplane.statestore.queries.ownuse import JobCounts, own_use
from scheduler.preemption.policy import Reclaiming
from wire.resources import AXES
from wire.states import JobState

from . import openqueue
from .cells import LITTLE, Cell, rule, said, why
from .live import lacking
from .matrix import QueueRow, axis_of, cell
from .sight import See, Sight, sight
from .standing import FederationStanding, PartitionStanding, standing

Json = dict[str, Any]
USERS_MAX = 20
RIGHTS_MAX = 50
FROM_MAX = 5  # queues named from which something would be taken back


def detail(user: User, path: str, partition: str = DEFAULT, resource: str = "") -> Json | None:
    """The queue as the account sees it; None when it does not exist to it. Bounded lists."""
    now = standing()
    if now is None or path not in now.tree.index or partition not in now.parts:
        return None
    seen, at = sight(user, now.tree), now.tree.index[path]
    if seen.see[at] < See.OWN:
        return None
    whole, part = seen.see[at] == See.WHOLE, now.parts[partition]
    axis = axis_of(now, part, at, resource)
    return {
        "path": path,
        "sees": "whole" if whole else "own",
        "pointer": pointer(path) if seen.everything else None,
        "partition": partition,
        "resource": AXES[axis],
        **_limits(now.tree.rows[at], part, at),
        **(_whole(now, part, partition, at, axis, seen) if whole else _own(now, part, partition, at, user)),
        "rights": _rights(now.tree.version, path) if seen.everything else None,
    }


def pointer(path: str) -> str:
    """Where the queue stands in the policy document, as a JSON pointer; the root is all of its queues."""
    return "/queues" + "/children".join(f"/{name}" for name in path.split(".")[1:])


def _limits(q: Queue, part: PartitionStanding, at: int) -> Json:
    maximum = part.maximum[at]
    return {
        "leaf": q.leaf,
        "stopped": q.stopped,
        "open_to_all": q.open_to_all,
        "ordering": q.ordering,
        "preemptable": q.preemptable,
        "max_running_jobs": q.max_running_jobs,
        "max_running_jobs_per_user": q.max_running_jobs_per_user,
        "max_live_jobs_per_user": q.max_live_jobs_per_user,
        "max_live_tasks_per_user": q.max_live_tasks_per_user,
        "max_live_mib_per_user": q.max_live_mib_per_user,
        "max_am_share": q.max_am_share,
        "max_priority": q.max_priority,
        "default_priority": q.default_priority,
        "guaranteed": _amounts(part.guaranteed[at]),
        "maximum": _amounts(maximum),
        "user_limit": _amounts((maximum * q.user_maximum + 1e-6).astype(np.int64)),
    }


def _whole(now: FederationStanding, part: PartitionStanding, name: str, at: int, axis: int, seen: Sight) -> Json:
    about = QueueRow.of(now, part, name, at, axis)
    cells = [cell(now, part, name, p, about) for p in range(len(now.places))]
    live, running = now.jobs[at].tolist()
    return {
        "used": _amounts(part.used[:, at].sum(axis=0)),
        "pending": _amounts(part.asked[:, at].sum(axis=0)),
        "live_jobs": live,
        "running_jobs": running,
        "weight": about.weight,
        "siblings_weight": about.siblings if seen.everything else None,
        "places": [_place(now, part, at, p, c, seen) for p, c in enumerate(cells)],
        "own": [],
        "users": _users(now.tree.rows[at].path),
        "starving": _starving(now, part, name, at, seen),
    }


def _own(now: FederationStanding, part: PartitionStanding, name: str, at: int, user: User) -> Json:
    own, path = own_use(user.pk), now.tree.rows[at].path
    jobs = own.jobs.get(path, JobCounts())
    used, pending = (sum(by.get(path, {}).values(), np.zeros(len(AXES), np.int64)) for by in (own.used, own.wanted))
    words = openqueue.told(_standing(now, part, name, at, used, jobs, set(own.wanted.get(path, {}))))
    return {
        "used": _amounts(used), "pending": _amounts(pending), "live_jobs": jobs.live, "running_jobs": jobs.running,
        "weight": None, "siblings_weight": None, "places": [], "own": words, "users": [], "starving": None,
    }  # fmt: skip


def _standing(
    now: FederationStanding,
    part: PartitionStanding,
    name: str,
    at: int,
    used: np.ndarray,
    jobs: JobCounts,
    waits: set[int],
) -> openqueue.OwnStanding:
    """waits: numbers of the sub-clusters where something of the account's own waits."""
    q, maximum = now.tree.rows[at], part.maximum[at]
    about = QueueRow.of(now, part, name, at, axis_of(now, part, at, ""))
    k = about.axis
    places = [(p, place) for p, place in enumerate(now.places) if place.counts]
    full = [place.name for p, place in places if part.used[p, ROOT, k] >= part.capacity[p, k] * (1 - LITTLE)]
    return openqueue.OwnStanding(
        ordering=q.ordering,
        used=used,
        user_limit=(maximum * q.user_maximum + 1e-6).astype(np.int64),
        maximum=maximum,
        running_jobs=jobs.running,
        max_running_jobs=q.max_running_jobs_per_user,
        waits={place.name: rule(cell(now, part, name, p, about)) for p, place in places if place.id in waits},
        full=tuple(full),
    )


def _place(now: FederationStanding, part: PartitionStanding, at: int, place: int, c: Cell, seen: Sight) -> Json:
    """One place, with the sentence and with what the other policies of shares would guarantee there."""
    k, wants = c.axis, part.used[:, at, c.axis].sum() + part.pending[:, at, c.axis].sum()
    by_demand = c.guaranteed * c.wants // int(wants) if wants else 0
    return {
        "sub_cluster": c.place,
        "counts": now.places[place].counts,
        "stale": now.stale(now.places[place]),
        "shares_age_s": _rounded(now.places[place].shares_age_s),
        "share": _amounts(part.share[place, at]),
        "guaranteed_part": _amounts(part.guaranteed_part[place, at]),
        "used": _amounts(part.used[place, at]),
        "pending": _amounts(part.asked[place, at]),
        "rule": rule(c),
        "why": why(c) if seen.everything or _harmless(now, seen, c) else _PLAIN[rule(c)],
        "by_size": c.sized,
        "by_demand": min(by_demand, int(part.capacity[place, k])),
    }


_TELLS_NO_OTHERS = ("demand", "vain", "size", "none", "guarantee", "capacity")
_PLAIN = {
    "idle": "It wants nothing here now.",
    "maximum": "A maximum above it is given out.",
    "weight": "The place is full; beyond guarantees queues share by weight.",
}


def _harmless(now: FederationStanding, seen: Sight, c: Cell) -> bool:
    """Whether the sentence speaks of nothing but what a tenant sees whole."""
    own = bool(c.limit) and seen.see[now.tree.index[c.limit]] == See.WHOLE
    return own or rule(c) in _TELLS_NO_OTHERS


def _users(path: str) -> list[Json]:
    """Whose jobs hold most here and below, by memory."""
    inside = Q(job__queue=path) | Q(job__queue__startswith=path + ".")
    groups = TaskGroup.objects.filter(inside, job__state__lt=JobState.SUCCEEDED)
    held = {f"held_{axis}": Sum(F("running") * F(axis)) for axis in AXES}
    rows = groups.values(owner=F("job__owner__username")).annotate(jobs=Count("job_id", distinct=True), **held)
    return [
        {"user": r["owner"], "jobs": r["jobs"], "used": {axis: int(r[f"held_{axis}"] or 0) for axis in AXES}}
        for r in rows.order_by("-held_memory_mib", "owner")[:USERS_MAX]
    ]


def _rights(version: int, path: str) -> list[Json]:
    """Who may submit or administer here, by grants on it or above it; those of the policy and those given by hand."""
    above = [path.rsplit(".", up)[0] for up in range(path.count(".") + 1)]
    named = QueueGrant.objects.filter(version=version, queue__in=above).values_list("principal", "level", "queue")
    given = QueueAccess.objects.filter(queue__in=above).values_list("user__username", "level", "queue")
    found = [(*row, "policy") for row in named[:RIGHTS_MAX]] + [(*row, "grant") for row in given[:RIGHTS_MAX]]
    return [dict(zip(("who", "level", "queue", "source"), row, strict=True)) for row in sorted(found)]


def _starving(now: FederationStanding, part: PartitionStanding, name: str, at: int, seen: Sight) -> Json | None:
    """Since when it is below its guarantee, and where what it lacks would come from."""
    since, lacks = now.starving.get((at, name)), lacking(now, name)[at]
    if since is None or now.now - since < starving.AFTER_S or not lacks.any():
        return None
    k = int((lacks / np.maximum(part.guaranteed[at], 1)).argmax())
    taken, free = _reclaimable(now, part, at, k)
    text = f"Below its guarantee by {said(k, int(lacks[k]))} that it wants."
    rules = {place.name: now.tree.preemption_in(place.name) for place in now.places}
    if rules and not any(rule.plans for rule in rules.values()):
        text += " Nothing is taken back: preemption is off in the policy."
    elif seen.everything:
        off = [
            p.name
            for p, wanted in zip(now.places, part.pending[:, at, k], strict=True)
            if wanted and not rules[p.name].plans
        ]
        text += _taken_back(taken, rules, said(k, free), k)
        text += f" Nothing is taken back in {', '.join(off)}: preemption is off there." if off else ""
    return {
        "since": round(since, 1),
        "lacking": _amounts(lacks),
        "resource": AXES[k],
        "reclaim": taken if seen.everything else [],
        "text": text,
    }


_MAY = {True: "may be taken back", False: "would be taken back, but preemption only observes"}


def _taken_back(taken: list[Json], rules: dict[str, Reclaiming], free: str, k: int) -> str:
    """rules: the preemption policy of each sub-cluster."""
    text = ""
    for stops, may in _MAY.items():
        rows = [t for t in taken if rules[t["sub_cluster"]].stops is stops]
        parts = ", ".join(f"{said(k, t['amount'])} from {t['queue']} in {t['sub_cluster']}" for t in rows)
        text += f" Beyond what is free ({free}), it {may}: {parts}." if parts else ""
    return text


def _reclaimable(now: FederationStanding, part: PartitionStanding, at: int, k: int) -> tuple[list[Json], int]:
    """(what leaves hold beyond what they are owed where this queue wants something, most first; what is free).

    Nothing of sub-clusters where preemption is off.
    """
    tree = now.tree
    mine = [f == at or q.path.startswith(tree.rows[at].path + ".") for f, q in enumerate(tree.rows)]
    gives = np.array([q.leaf and q.preemptable for q in tree.rows]) & ~np.array(mine)
    found, free = [], 0
    for place, wanted in enumerate(part.pending[:, at, k].tolist()):
        if not wanted:
            continue
        idle = max(0, int(part.capacity[place, k] - part.used[place, ROOT, k]))
        free += min(idle, wanted)
        takes = gives & tree.preemption_in(now.places[place].name).plans
        over = np.where(takes, np.maximum(part.used[place, :, k] - part.guaranteed_part[place, :, k], 0), 0)
        for row in np.argsort(-over)[:FROM_MAX].tolist():
            amount = min(int(over[row]), max(0, wanted - idle))
            if amount > 0:
                name = now.places[place].name
                found.append({"queue": tree.rows[row].path, "sub_cluster": name, "amount": amount})
    return sorted(found, key=lambda t: -t["amount"])[:FROM_MAX], free


def _amounts(values: np.ndarray) -> dict[str, int]:
    return dict(zip(AXES, values.tolist(), strict=True))


def _rounded(age_s: float | None) -> float | None:
    return None if age_s is None else round(age_s, 1)
