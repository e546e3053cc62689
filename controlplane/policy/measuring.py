"""What the stages of a rollout did lately, as guards compare it."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from controlplane.policy.diffwords import units
from controlplane.policy.guards import Cause, Measures, StageComparison
from controlplane.statestore.models import SubCluster
from controlplane.statestore.queries.subclusters import culprits
from controlplane.statestore.queries.subclusters.lately import Lately, lately
from wire.resources import AXES, OF_AXIS

Json = dict[str, Any]
WINDOW_MAX_S = 600.0
BASELINE_LEAST_S = 60.0
RUNNING = (SubCluster.State.RUNNING, SubCluster.State.DRAINING)


def before_s(soak_s: float) -> float:
    """How far back a stage's sub-clusters are measured before they are told."""
    return min(max(soak_s, BASELINE_LEAST_S), WINDOW_MAX_S)


def all_running() -> list[str]:
    """The sub-clusters that a version in force for all concerns."""
    return list(SubCluster.objects.filter(state__in=RUNNING).order_by("name").values_list("name", flat=True))


def measure(stages: Sequence[Collection[str]], window_s: float, begun: int) -> list[StageComparison]:
    """Each of these stages against the sub-clusters of none of the first ``begun`` ones, in the last ``window_s``."""
    window_s = min(max(window_s, 1.0), WINDOW_MAX_S)
    ids = dict(SubCluster.objects.filter(state__in=RUNNING).values_list("name", "pk"))
    found = lately(ids.values(), window_s)
    staged = {name for names in stages[:begun] for name in names}
    others = aggregate([found[pk] for name, pk in ids.items() if name not in staged], window_s)
    return [
        StageComparison(staged=aggregate([found[ids[n]] for n in names if n in ids], window_s), others=others)
        for names in stages
    ]


def aggregate(rows: Iterable[Lately], window_s: float) -> Measures:
    """Several sub-clusters as one."""
    rows = list(rows)
    waited = sorted(w for row in rows for w in row.waits)
    return Measures(
        window_s=round(window_s, 1),
        jobs=len(waited),
        pending_p99_s=round(waited[math.ceil(0.99 * len(waited)) - 1], 2) if waited else None,
        ended=sum(row.ended for row in rows),
        failed=sum(row.failed for row in rows),
        ended_per_min=round(60 * sum(row.ended_in_rounds / max(row.rounds_s, 0.1) for row in rows), 2),
        allocations_per_s=round(sum(row.placed / max(row.rounds_s, 0.1) for row in rows), 3),
        utilization=_utilization(rows),
        waits=any(amount > 0 for row in rows for amount in row.pending),
    )


def _utilization(rows: Sequence[Lately]) -> float | None:
    """Of the scarcest resource."""
    capacity = [sum(column) for column in zip(*(row.capacity for row in rows if row.capacity), strict=True)]
    free = [sum(column) for column in zip(*(row.free for row in rows if row.capacity), strict=True)]
    used = [(total - left) / total for total, left in zip(capacity, free, strict=True) if total > 0]
    return round(max(used), 4) if used else None


def smoothed(now: Sequence[StageComparison], kept: Mapping[str, Any]) -> tuple[list[StageComparison], Json]:
    """Utilization as its mean over the looks of this soak, the rest as it is; and what to keep for the next look."""
    looks = int(kept.get("looks", 0))
    found = []
    for at, comparison in enumerate(now):
        old = (kept.get("stages") or [])[at : at + 1]
        sides = {}
        for side in ("staged", "others"):
            measures: Measures = getattr(comparison, side)
            was = old[0][side]["utilization"] if old and looks else None
            if was is not None and measures.utilization is not None:
                mean = (was * looks + measures.utilization) / (looks + 1)
                measures = measures.model_copy(update={"utilization": round(mean, 4)})
            sides[side] = measures
        found.append(StageComparison(**sides))
    return found, {"looks": looks + 1, "stages": [c.model_dump() for c in found]}


def named(names: Collection[str], window_s: float, cause: Cause) -> str:
    """The few jobs or queues in these sub-clusters whose doing a broken guard is, with their numbers; or nothing."""
    ids = list(SubCluster.objects.filter(name__in=names, state__in=RUNNING).values_list("pk", flat=True))
    match cause:
        case Cause.WAITING:
            found = [(w.job, w.name, w.queue, f"{w.waited_s:.1f} s") for w in culprits.waiting(ids, window_s)]
        case Cause.FAILING:
            failing = culprits.failing(ids, window_s)
            found = [(f.job, f.name, f.queue, f"{f.failed:,} of {f.ended:,} failed") for f in failing]
        case Cause.WANTING:
            return ", ".join(f"{w.queue} lacks {_amounts(w.amounts)}" for w in culprits.wanting(ids))
    return ", ".join(f"job {job} {name} in {queue} ({what})" for job, name, queue, what in found)


def _amounts(amounts: Sequence[int]) -> str:
    """``64 GiB and 4 cores``; what is none is left out."""
    some = [(axis, amount) for axis, amount in zip(AXES, amounts, strict=True) if amount > 0]
    told = [units(a, amount) + ("" if OF_AXIS[a].in_mib else f" {OF_AXIS[a].word}") for a, amount in some]
    return " and ".join(told)
