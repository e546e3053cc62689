"""What happened since the rows were last counted: decisions, their latency, preemptions.

Every sub-cluster has a mark, and what lies beyond it is counted exactly once:
ids of containers rise with the leader's epoch and within it, and the log of
rounds has no gaps. So an outage of the duty is caught up with.
"""

import datetime as dt
from dataclasses import dataclass

from django.db import connection

from controlplane.statestore.latency import SINCE_SUBMIT
from scheduler.shares.tree import lineage
from wire.ids import container_id
from wire.states import ContainerReason

from .columns import CLUSTER, QUEUE, SUB_CLUSTER, Rows, WindowRow
from .levels import FINEST_S
from .sketch import BIN_MAX, LN_GROWTH

MOST = 50_000  # containers, and rounds, of one sub-cluster at a time

# A sub-cluster seen for the first time is counted from its present leader's first decision on.
_MARKS = """
INSERT INTO statestore_seriesmark (sub_cluster_id, container, seq)
SELECT l.sub_cluster_id, (l.sub_cluster_id::bigint << 52) | (l.epoch::bigint << 32),
       coalesce((SELECT r.first_seq - 1 FROM statestore_round r WHERE r.sub_cluster_id = l.sub_cluster_id
                    AND r.epoch = l.epoch ORDER BY r.first_seq LIMIT 1), l.next_seq - 1)
  FROM statestore_lease l WHERE l.sub_cluster_id = ANY(%s::smallint[])
   AND NOT EXISTS (SELECT 1 FROM statestore_seriesmark m WHERE m.sub_cluster_id = l.sub_cluster_id)
    ON CONFLICT DO NOTHING
"""
_READ_MARKS = "SELECT sub_cluster_id, container, seq FROM statestore_seriesmark WHERE sub_cluster_id = ANY(%s)"
_MOVE_MARKS = """
UPDATE statestore_seriesmark m SET container = v.container, seq = v.seq
  FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[]) AS v(sub, container, seq) WHERE m.sub_cluster_id = v.sub
"""
_WINDOW = f"date_bin('{FINEST_S} s', {{}}, timestamptz 'epoch')"
# Latency: from submit to a task's first container.
_PLACED = f"""
WITH c AS MATERIALIZED (
    SELECT s.id AS sub, u.* FROM unnest(%(subs)s::smallint[], %(low)s::bigint[], %(high)s::bigint[]) AS s(id, low, high)
     CROSS JOIN LATERAL (
       SELECT * FROM (
         (SELECT id AS container, job_id, group_no, attempt, allocated_at FROM statestore_container
           WHERE id > s.low AND id <= s.high ORDER BY id LIMIT %(most)s)
          UNION ALL
         (SELECT id, job_id, group_no, attempt, allocated_at FROM statestore_container_history
           WHERE id > s.low AND id <= s.high ORDER BY id LIMIT %(most)s)) both_tables
        ORDER BY container LIMIT %(most)s) u
), g AS MATERIALIZED (
    SELECT k.job_id, k.group_no, j.queue, j.submitted_at,
           {SINCE_SUBMIT} AS first
      FROM (SELECT DISTINCT job_id, group_no FROM c) k JOIN statestore_job j ON j.id = k.job_id
)
SELECT c.sub, coalesce(g.queue, ''), {_WINDOW.format("c.allocated_at")},
       CASE WHEN c.attempt = 1 AND g.first THEN least(%(bin_max)s, ceil(ln(greatest(1.0,
           extract(epoch FROM c.allocated_at - g.submitted_at)::float8 * 1000)) / %(ln_growth)s))::int END,
       count(*), max(c.container)
  FROM c LEFT JOIN g ON g.job_id = c.job_id AND g.group_no = c.group_no
 GROUP BY 1, 2, 3, 4
"""
_ROUNDS = """
SELECT s.id, r.epoch, min(r.at), max(r.at), max(r.last_seq), count(*)
  FROM unnest(%(subs)s::smallint[], %(seqs)s::bigint[]) AS s(id, seq) CROSS JOIN LATERAL (
       SELECT epoch, at, last_seq FROM statestore_round
        WHERE sub_cluster_id = s.id AND first_seq > s.seq ORDER BY first_seq LIMIT %(most)s) r
 GROUP BY 1, 2
"""
# The epoch keeps two leaders apart whose clocks differ.
_PREEMPTED = f"""
SELECT v.sub, coalesce(j.queue, ''), {_WINDOW.format("h.finished_at")}, count(*)
  FROM unnest(%s::smallint[], %s::int[], %s::timestamptz[], %s::timestamptz[]) AS v(sub, epoch, low, high)
  JOIN statestore_container_history h ON h.sub_cluster_id = v.sub AND h.reason = {int(ContainerReason.PREEMPTED)}
   AND h.finished_at BETWEEN v.low AND v.high AND h.epoch = v.epoch
  LEFT JOIN statestore_job j ON j.id = h.job_id
 GROUP BY 1, 2, 3
"""


@dataclass(slots=True)
class _Mark:
    container: int
    seq: int


def count(names: dict[int, str]) -> tuple[Rows, bool]:
    """(rows to add, whether there is more), and the marks moved on, inside the caller's transaction."""
    rows: Rows = {}
    subs = sorted(names)
    with connection.cursor() as cursor:
        cursor.execute(_MARKS, [subs])
        cursor.execute(_READ_MARKS, [subs])
        marks = {sub: _Mark(container, seq) for sub, container, seq in cursor.fetchall()}
    more = _placed(rows, marks, names)
    more |= _preempted(rows, marks, names)
    with connection.cursor() as cursor:
        columns = [[m.container for m in marks.values()], [m.seq for m in marks.values()]]
        cursor.execute(_MOVE_MARKS, [list(marks), *columns])
    return rows, more


def _placed(rows: Rows, marks: dict[int, _Mark], names: dict[int, str]) -> bool:
    values = {
        "subs": list(marks), "low": [m.container for m in marks.values()],
        "high": [container_id(sub + 1, 0, 0) - 1 for sub in marks], "most": MOST, "bin_max": BIN_MAX,
        "ln_growth": LN_GROWTH,
    }  # fmt: skip
    read = dict.fromkeys(marks, 0)
    with connection.cursor() as cursor:
        cursor.execute(_PLACED, values)
        for sub, queue, at, bin_, n, last in cursor.fetchall():
            marks[sub].container = max(marks[sub].container, last)
            read[sub] += n
            for row in _of(rows, names[sub], queue, at):
                row.add("decisions", n)
                if bin_ is not None:
                    row.latency[bin_] = row.latency.get(bin_, 0) + n
    return any(n >= MOST for n in read.values())


def _preempted(rows: Rows, marks: dict[int, _Mark], names: dict[int, str]) -> bool:
    with connection.cursor() as cursor:
        seqs = [m.seq for m in marks.values()]
        cursor.execute(_ROUNDS, {"subs": list(marks), "seqs": seqs, "most": MOST})
        spans = cursor.fetchall()
        cursor.execute(_PREEMPTED, [[span[i] for span in spans] for i in range(4)])
        found = cursor.fetchall()
    for sub, *_, last, _n in spans:
        marks[sub].seq = max(marks[sub].seq, last)
    for sub, queue, at, n in found:
        for row in _of(rows, names[sub], queue, at):
            row.add("preemptions", n)
    return any(n >= MOST for *_, n in spans)


def _of(rows: Rows, sub_cluster: str, queue: str, at: dt.datetime) -> list[WindowRow]:
    """The rows that something in a queue of a sub-cluster counts in."""
    scopes = [CLUSTER, SUB_CLUSTER + sub_cluster, *(QUEUE + path for path in (lineage(queue) if queue else ()))]
    return [rows.setdefault((scope, at), WindowRow()) for scope in scopes]
