"""Sub-clusters side by side: what each did in the same window, from bounded reads.

Allocations, utilization and what waits come from ``lately``, as the
guards of rollouts see them; here are the latencies and how containers ended.
All look at the newest rows first and at most so many a sub-cluster: a busy
one is described by its last minutes.
"""

from typing import Any

import numpy as np
from django.db import connection

from controlplane.statestore.latency import SINCE_SUBMIT
from controlplane.statestore.models import PolicyVersion, SubCluster
from wire.ids import container_id
from wire.resources import AXES
from wire.states import ContainerReason, ContainerState

from .lately import Lately, lately

Json = dict[str, Any]
MOST = 3000  # rows of a kind looked at per sub-cluster
SUB_CLUSTERS_MAX = 50

_SINCE = "statement_timestamp() - make_interval(secs => %(window_s)s)"
_EACH = "unnest(%(subs)s::smallint[], %(low)s::bigint[], %(high)s::bigint[]) AS s(id, low, high)"
# How long a task's first container was asked for. Groups that wait for others have asked since some other time.
_LATENCY = f"""
WITH c AS MATERIALIZED (
    SELECT s.id AS sub, c.job_id, c.group_no, c.allocated_at FROM {_EACH} CROSS JOIN LATERAL (
        (SELECT job_id, group_no, allocated_at FROM statestore_container
          WHERE id BETWEEN s.low AND s.high AND attempt = 1 ORDER BY id DESC LIMIT %(most)s)
         UNION ALL
        (SELECT job_id, group_no, allocated_at FROM statestore_container_history
          WHERE id BETWEEN s.low AND s.high AND attempt = 1 AND finished_at > {_SINCE}
          ORDER BY id DESC LIMIT %(most)s)) c
     WHERE c.allocated_at > {_SINCE}
), g AS MATERIALIZED (
    SELECT j.id, k.group_no, j.submitted_at
      FROM (SELECT DISTINCT job_id, group_no FROM c) k JOIN statestore_job j ON j.id = k.job_id
     WHERE {SINCE_SUBMIT}
)
SELECT c.sub, count(*), percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (
           ORDER BY greatest(0, extract(epoch FROM c.allocated_at - g.submitted_at)::float8))
  FROM c JOIN g ON g.id = c.job_id AND g.group_no = c.group_no
 GROUP BY c.sub
"""
_ENDED = f"""
SELECT s.id, count(*), count(*) FILTER (WHERE e.state = %(failed)s), count(*) FILTER (WHERE e.reason = %(preempted)s)
  FROM {_EACH} CROSS JOIN LATERAL (
       SELECT state, reason FROM statestore_container_history
        WHERE id BETWEEN s.low AND s.high AND finished_at > {_SINCE} ORDER BY id DESC LIMIT %(most)s) e
 GROUP BY s.id
"""
_ROUNDS = f"""
SELECT s.id, count(*), percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY (r.plan_us + r.commit_us) / 1000.0)
  FROM unnest(%(subs)s::smallint[]) AS s(id) CROSS JOIN LATERAL (
       SELECT plan_us, commit_us, at FROM statestore_round
        WHERE sub_cluster_id = s.id AND at > {_SINCE} ORDER BY first_seq DESC LIMIT %(most)s) r
 GROUP BY s.id
"""


def compare(names: list[str], window_s: int) -> tuple[list[Json], list[str]]:
    """(rows, names that do not exist): each sub-cluster's measures, in the order asked for, or all by name.

    Eight queries, however many sub-clusters.
    """
    found = {s.name: s for s in SubCluster.objects.exclude(state=SubCluster.State.DECOMMISSIONED)}
    chosen = [found[name] for name in (names or sorted(found)[:SUB_CLUSTERS_MAX]) if name in found]
    ids = [s.pk for s in chosen]
    active = PolicyVersion.objects.filter(active=True).values_list("pk", flat=True).first()
    low, high = [container_id(i, 0, 0) for i in ids], [container_id(i + 1, 0, 0) - 1 for i in ids]
    values = {
        "subs": ids, "low": low, "high": high, "window_s": window_s, "most": MOST,
        "failed": int(ContainerState.FAILED), "preempted": int(ContainerReason.PREEMPTED),
    }  # fmt: skip
    latency, ended, rounds = (_read(sql, values) for sql in (_LATENCY, _ENDED, _ROUNDS))
    did = lately(ids, window_s)
    rows = [
        {"name": s.name, "state": s.state, "components_version": s.components_version_id or active}
        | _doing(did[s.pk])
        | _quantiles("allocation_latency", "s", latency.get(s.pk))
        | _quantiles("round", "ms", rounds.get(s.pk))
        | _ends(ended.get(s.pk, (0, 0, 0)), did[s.pk])
        for s in chosen
    ]
    return rows, [name for name in names if name not in found]


def _read(sql: str, values: Json) -> dict[int, tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return {sub: tuple(rest) for sub, *rest in cursor.fetchall()}


def _doing(d: Lately) -> Json:
    share = [(c - f) / c for c, f in zip(d.capacity, d.free, strict=True) if c]
    p50, p99 = np.quantile(d.waits, [0.5, 0.99]).tolist() if d.waits else (None, None)
    return {
        "allocations_per_s": d.placed / d.rounds_s if d.rounds_s else 0.0,
        "utilization": max(share) if share else None,
        "pending": dict(zip(AXES, d.pending or (0,) * len(AXES), strict=True)),
        "jobs": len(d.waits),
        "job_wait_p50_s": p50,
        "job_wait_p99_s": p99,
    }


def _quantiles(what: str, unit: str, found: tuple[Any, ...] | None) -> Json:
    count, (p50, p99) = found or (0, (None, None))
    return {f"{what}_count": count, f"{what}_p50_{unit}": p50, f"{what}_p99_{unit}": p99}


def _ends(found: tuple[Any, ...], d: Lately) -> Json:
    """``ended``: looked at. Rates are those shares of all that ended."""
    ended, failed, preempted = found
    per_min = d.ended_in_rounds / d.rounds_s * 60 if d.rounds_s else 0.0
    return {
        "ended": ended,
        "ended_per_s": per_min / 60,
        "failed": failed,
        "failures_per_min": per_min * failed / ended if ended else 0.0,
        "preempted": preempted,
        "preemptions_per_min": per_min * preempted / ended if ended else 0.0,
    }
