"""What an account's own jobs hold and want, per queue and sub-cluster: never more than its own rows tell."""

from collections import defaultdict
from collections.abc import Set
from typing import Any, NamedTuple

import numpy as np

from controlplane.statestore.capacities import R
from controlplane.statestore.resourcecolumns import per_axis, per_axis_held
from wire.resources import AXES
from wire.states import GroupState, JobState

from .looks import together
from .sql import rows_as_dicts

# The account's live jobs: what runs is counted where it is, what waits at the job's home, the jobs by their state.
_OWN = f"""
WITH mine AS MATERIALIZED (
    SELECT id, owner_id, queue, home_id, state FROM statestore_job
     WHERE owner_id = ANY(%(owners)s) AND state < %(ended)s)
SELECT j.owner_id, 'held' AS what, j.queue, c.sub_cluster_id AS at, {per_axis_held("sum({1})::bigint AS {0}", "c.")},
       count(*) AS n
  FROM mine j JOIN statestore_container c ON c.job_id = j.id
 GROUP BY 1, 3, 4
 UNION ALL
SELECT j.owner_id, 'wanted', j.queue, j.home_id, {per_axis("sum(g.{0} * w.n)::bigint")}, sum(w.n)::bigint
  FROM mine j JOIN statestore_taskgroup g ON g.job_id = j.id
  CROSS JOIN LATERAL (SELECT greatest(0, g.count - g.succeeded - g.failed - g.killed - g.running) AS n) w
 WHERE g.state < %(group_ended)s
 GROUP BY 1, 3, 4
 UNION ALL
SELECT owner_id, 'jobs', queue, state, {per_axis("0")}, count(*) FROM mine GROUP BY 1, 3, 4
"""


class JobCounts(NamedTuple):
    """Jobs that have not ended, and those of them that run."""

    live: int = 0
    running: int = 0


class OwnUse:
    """used, wanted: queue path -> sub-cluster -> (R,) int64. jobs: by path.

    containers, pending: path -> those that run and that wait; the same by sub-cluster with ``_at``.
    states: state of live jobs -> how many.
    """

    def __init__(self, found: list[dict[str, Any]]):
        rows: dict[str, list[dict[str, Any]]] = {"held": [], "wanted": [], "jobs": []}
        for row in found:
            rows[row["what"]].append(row)
        self.used, self.containers, self.containers_at = _by_place(rows["held"])
        self.wanted, self.pending, self.pending_at = _by_place(rows["wanted"])
        self.jobs: dict[str, JobCounts] = {}
        self.states: dict[int, int] = defaultdict(int)
        for row in rows["jobs"]:
            live, running = self.jobs.get(row["queue"], JobCounts())
            running += row["n"] * (row["at"] == JobState.RUNNING)
            self.jobs[row["queue"]] = JobCounts(live + row["n"], running)
            self.states[row["at"]] += row["n"]


@together("accounts")
def _own_uses(owners: Set[int]) -> dict[int, OwnUse]:
    values = {"owners": list(owners), "ended": int(JobState.SUCCEEDED), "group_ended": int(GroupState.SUCCEEDED)}
    rows: dict[int, list[dict[str, Any]]] = {owner: [] for owner in owners}
    for row in rows_as_dicts(_OWN, values):
        rows[row["owner_id"]].append(row)
    return {owner: OwnUse(found) for owner, found in rows.items()}


def own_use(owner_id: int) -> OwnUse:
    """An account's own part. One query, once in a look."""
    return _own_uses(owner_id) or OwnUse([])


def _by_place(
    rows: list[dict[str, Any]],
) -> tuple[dict[str, dict[int, np.ndarray]], dict[str, int], dict[int, int]]:
    found: dict[str, dict[int, np.ndarray]] = defaultdict(dict)
    counts: dict[str, int] = defaultdict(int)
    places: dict[int, int] = defaultdict(int)
    for row in rows:
        amounts = [int(row[axis] or 0) for axis in AXES]
        found[row["queue"]][row["at"]] = np.array(amounts, np.int64).reshape(R)
        counts[row["queue"]] += int(row["n"] or 0)
        places[row["at"]] += int(row["n"] or 0)
    return found, counts, places
