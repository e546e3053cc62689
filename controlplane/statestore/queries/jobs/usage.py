"""What a job's attempts used beside what they asked for, by group, and the size that would have done."""

import math
from typing import Any

from controlplane.statestore.models import Job
from controlplane.statestore.queries.sql import rows_as_dicts
from scheduler.explain.amounts import amount_number, amount_text
from wire.counts import counted
from wire.states import ContainerReason

from .containers import COUNTED_MAX, history_since

# Each group may take as much of what is looked at as any other. An attempt that ran for less than half a second tells
# nothing of its cores, and one that ran out of less memory than is asked for by now nothing of that.
_USED = """
WITH of_job AS (
  SELECT no, name, memory_mib, vcores_milli, greatest(%(most)s / count(*) OVER (), 1) AS most
    FROM statestore_taskgroup WHERE job_id = %(job)s)
SELECT g.name, g.memory_mib, g.vcores_milli, g.most, u.* FROM of_job g CROSS JOIN LATERAL (
  SELECT count(*) AS attempts, count(peak) AS measured, count(busy) AS timed,
      coalesce(max(peak), 0) AS peak_memory_mib,
      coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY peak), 0) AS p95_memory_mib,
      coalesce(avg(busy), 0)::int AS mean_vcores_milli,
      coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY busy), 0)::int AS p95_vcores_milli,
      count(*) FILTER (WHERE reason = %(memory)s AND memory_mib >= g.memory_mib) AS ran_out
    FROM (
      SELECT reason, memory_mib, nullif(peak_memory_mib, 0) AS peak,
          CASE WHEN cpu_ms > 0 AND finished_at - started_at >= interval '0.5 s'
               THEN cpu_ms / extract(epoch FROM finished_at - started_at) END AS busy
        FROM statestore_container_history
       WHERE job_id = %(job)s AND group_no = g.no AND finished_at >= %(since)s
       ORDER BY task_index, id LIMIT g.most) ended) u
 ORDER BY g.no"""
_FEW = 3  # attempts of which nothing is concluded
_SPARE = 1.25  # of what was used
_WORTH = 0.75  # of what is asked for; a size above that is no better
_MORE = 1.5  # of what is asked for, where that ran out
_STEPS = {"memory_mib": 32, "vcores_milli": 50}


def usage(job: Job) -> dict[str, Any]:
    """As ``contract.jobusage.JobUsage``. One query of bounded cost."""
    values = {"job": job.pk, "since": history_since(job), "most": COUNTED_MAX, "memory": ContainerReason.MEMORY}
    rows = rows_as_dicts(_USED, values)
    return {"results": [_told(row) for row in rows], "complete": all(row["attempts"] < row["most"] for row in rows)}


def _told(row: dict[str, Any]) -> dict[str, Any]:
    size, hint = better(row)
    shown = {name: value for name, value in row.items() if name not in {"name", "most", "timed", "ran_out"}}
    return {"group": row["name"], **shown, "hint": hint} | {f"better_{axis}": size.get(axis) for axis in _STEPS}


def better(used: dict[str, Any]) -> tuple[dict[str, int], str]:
    """What of another size would do, by resource, and why in words. used: a row of ``_USED``."""
    asked = {axis: used[axis] for axis in _STEPS}
    if out := used["ran_out"]:
        more = _up(asked["memory_mib"] * _MORE, 2 * _STEPS["memory_mib"])
        return {"memory_mib": more}, f"{counted(out, 'attempt')} ran out: ask for {amount_text('memory_mib', more)}"
    if used["measured"] < _FEW:
        return {}, "too few attempts to say"
    taken = {"memory_mib": used["peak_memory_mib"]}
    if used["timed"] >= _FEW:
        taken["vcores_milli"] = used["p95_vcores_milli"]
    found = {axis: _up(amount * _SPARE, _STEPS[axis]) for axis, amount in taken.items()}
    found = {axis: amount for axis, amount in found.items() if amount <= asked[axis] * _WORTH}
    if not found:
        return {}, "it fits"
    parts = [f"{amount_text(axis, n)} instead of {amount_number(axis, asked[axis])}" for axis, n in found.items()]
    return found, f"{' and '.join(parts)} would have done, with a quarter to spare"


def _up(amount: float, step: int) -> int:
    """The next multiple; at least one step."""
    return max(1, math.ceil(amount / step)) * step
