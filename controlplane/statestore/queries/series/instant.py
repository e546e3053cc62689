"""How sub-clusters and queues stood at a moment of the past."""

import datetime as dt
from typing import Any

from django.db import connection

from controlplane import clock
from controlplane.statestore.series.columns import (
    CLUSTER,
    LOADED,
    MEASURED,
    NODES,
    NUMBERS,
    QUEUE,
    SAMPLED_BY,
    SUB_CLUSTER,
)
from controlplane.statestore.series.levels import levels, window
from wire.resources import AXES

Json = dict[str, Any]
QUEUES_MAX = 200
_ROWS = f"""
SELECT s.name, r.left_out, {", ".join("r." + c for c in NUMBERS)} FROM statestore_seriesscope s
  JOIN statestore_series r ON r.step = %s AND r.scope_id = s.id AND r.at = %s
"""


def instant(at: dt.datetime) -> Json:
    """The finest window kept that ``at`` lies in: all sub-clusters, and the queues of the largest shares. One query."""
    now = clock.now()
    level = next((level for level in levels() if at >= now - level.kept), levels()[-1])
    begin = window(at, level.step_s)
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [level.step_s, begin])
        rows = {name: (left, dict(zip(NUMBERS, numbers, strict=True))) for name, left, *numbers in cursor.fetchall()}
    left_out, whole = rows.get(CLUSTER, (0, None))
    subs = [_standing(name, sums, sums) for name, (_, sums) in rows.items() if name.startswith(SUB_CLUSTER)]
    queues = [
        _standing(name, sums, sums if left_out or whole is None else whole)
        for name, (_, sums) in rows.items()
        if name.startswith(QUEUE)
    ]
    queues.sort(key=lambda q: (-(q["dominant_share"] or 0), q["name"]))
    return {
        "at": begin,
        "step_s": level.step_s,
        "cluster": _standing(CLUSTER, whole, whole) if whole else None,
        "sub_clusters": sorted(subs, key=lambda s: str(s["name"])),
        "queues": queues[:QUEUES_MAX],
        "queues_left_out": max(0, len(queues) - QUEUES_MAX) + left_out,
    }


def _standing(scope: str, sums: dict[str, int], samples: dict[str, int]) -> Json:
    """The means of one scope's window. samples: how many of each kind there are."""

    def mean(column: str) -> int | None:
        n = samples[SAMPLED_BY[column]]
        return round(sums[column] / n) if n else None

    found: Json = {"name": scope.partition(":")[2] or scope}
    for what in ("allocated", "capacity", "pending"):
        found[what] = {axis: mean(f"{what}_{axis}") for axis in AXES} if mean(LOADED[0]) is not None else None
    share = mean("share_ppm")
    found["dominant_share"] = None if share is None else share / 1e6
    found |= {column: mean(column) for column in MEASURED}
    found |= {"decisions": sums["decisions"], "preemptions": sums["preemptions"]}
    return found | {"nodes": {column.removeprefix("nodes_"): mean(column) for column in NODES}}
