"""What a StateStore's rows say about decisions: how many, how soon, and what their COPY alone would take."""

import time
from typing import Any

import numpy as np
import psycopg

from benchmarks.stack import one
from wire.states import ContainerState

BUCKET_S = 5
RAW_ROWS = 500_000
_COLUMNS = (
    "id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, state, epoch, memory_mib, vcores_milli, gpus,"
    " allocated_at"
)
_ALLOCATED = """
SELECT sub_cluster_id, allocated_at FROM statestore_container
 WHERE allocated_at >= %(since)s AND allocated_at < %(end)s
 UNION ALL
SELECT sub_cluster_id, allocated_at FROM statestore_container_history
 WHERE allocated_at >= %(since)s AND allocated_at < %(end)s
"""
_PER_BUCKET = f"""
SELECT floor(extract(epoch FROM at - %(since)s) / {BUCKET_S})::int, sum(allocated)::bigint, sum(ended)::bigint FROM (
    SELECT allocated_at AS at, 1 AS allocated, 0 AS ended FROM ({_ALLOCATED}) a
     UNION ALL
    SELECT finished_at, 0, 1 FROM statestore_container_history
     WHERE state = {ContainerState.SUCCEEDED} AND finished_at >= %(since)s AND finished_at < %(end)s) d
 GROUP BY 1
"""
# Of each round: what it cost, and what ended and was placed. A commit's length is known to the round after it.
_ROUNDS = """
SELECT sub_cluster_id, (extract(epoch FROM at) * 1e6)::bigint, placed, ended, plan_us,
       lead(commit_us, 1, commit_us) OVER (PARTITION BY sub_cluster_id ORDER BY first_seq)
  FROM statestore_round WHERE at >= %(since)s AND at < %(end)s ORDER BY 1, 2
"""
_ROUND = [(name, np.int64) for name in ("sub", "at_us", "placed", "ended", "plan_us", "commit_us")]
# The moment of a container's end, by its node's clock: players put it where the processor time would stand.
_ENDS = f"""
SELECT sub_cluster_id, (extract(epoch FROM finished_at) * 1e6)::bigint, cpu_ms
  FROM statestore_container_history
 WHERE state = {ContainerState.SUCCEEDED} AND finished_at >= %(since)s AND finished_at < %(end)s
"""
_END = [(name, np.int64) for name in ("sub", "at_us", "cpu_ms")]


def decisions(db: psycopg.Connection[Any], start: Any, end: Any, places: int) -> dict[str, Any]:
    """Allocations and terminations between two moments, and how many of the places were taken at the second."""
    rows = db.execute(_PER_BUCKET, {"since": start, "end": end}).fetchall()
    allocated, ended = sum(a for _, a, _ in rows), sum(e for _, _, e in rows)
    seconds = (end - start).total_seconds()
    whole = {b: a + e for b, a, e in rows}
    live = one(
        db,
        "SELECT (SELECT count(*) FROM statestore_container WHERE allocated_at < %(end)s)"
        " + (SELECT count(*) FROM statestore_container_history"
        " WHERE allocated_at < %(end)s AND finished_at >= %(end)s)",
        {"end": end},
    )
    return {
        "decisions_per_s": round((allocated + ended) / seconds),
        "slowest_5_s_per_s": round(min(whole.get(b, 0) for b in range(int(seconds // BUCKET_S))) / BUCKET_S),
        "allocations_per_s": round(allocated / seconds),
        "terminations_per_s": round(ended / seconds),
        "decisions": int(allocated + ended),
        "allocated_percent": round(100 * live / places, 1),
        "seconds": round(seconds, 1),
    }


def latencies(db: psycopg.Connection[Any], start: Any, end: Any) -> dict[str, Any]:
    """From the end of a container on its node to the committed row of the one that takes its room.

    The queue is always at its maximum with more waiting, so each end makes
    room for one allocation: the n-th allocation of a sub-cluster is paired with
    its n-th end. A round's allocations count from when its commit was over:
    its beginning, its planning and its commit.
    """
    values = {"since": start, "end": end}
    rounds = np.array(db.execute(_ROUNDS, values).fetchall(), _ROUND)
    ends = np.array(db.execute(_ENDS, values).fetchall(), _END)
    waits, heard = [np.zeros(0)], [np.zeros(0)]
    if not len(rounds) or not len(ends):
        raise SystemExit("bench decisions: nothing was decided")
    for sub in np.unique(rounds["sub"]).tolist():
        mine, own = rounds[rounds["sub"] == sub], ends[ends["sub"] == sub]
        # 32 bits of milliseconds, put near the round that read of it, which may have begun before the end.
        age_ms = (own["at_us"] // 1000 - own["cpu_ms"] + (1 << 31)) % (1 << 32) - (1 << 31)
        ended = np.sort(own["at_us"] / 1000 - age_ms)
        heard.append(age_ms)
        committed = np.repeat((mine["at_us"] + mine["plan_us"] + mine["commit_us"]) / 1000, mine["placed"])
        k = min(len(ended), len(committed))
        waits.append(committed[:k] - ended[:k])
    wait_ms, heard_ms = np.concatenate(waits), np.concatenate(heard)
    return {
        "latency_p50_ms": round(float(np.percentile(wait_ms, 50))),
        "latency_p99_ms": round(float(np.percentile(wait_ms, 99))),
        "heard_p50_ms": round(float(np.percentile(heard_ms, 50))),
        "heard_p99_ms": round(float(np.percentile(heard_ms, 99))),
        "rounds_per_s": round(len(rounds) / (end - start).total_seconds(), 1),
        "placed_per_round": round(float(rounds["placed"].mean())),
        "plan_ms": round(float(rounds["plan_us"].mean()) / 1000, 1),
        "commit_ms": round(float(rounds["commit_us"].mean()) / 1000, 1),
    }


def raw_copy_per_s(db: psycopg.Connection[Any], start: Any) -> float:
    """Rows per second of a bare binary COPY of the same rows into a table like the live one, in blocks like rounds'."""
    block = one(db, "SELECT greatest(1, avg(placed))::int FROM statestore_round WHERE at >= %s", (start,))
    with (
        db.cursor() as cursor,
        cursor.copy(
            f"COPY (SELECT {_COLUMNS} FROM statestore_container LIMIT {RAW_ROWS}) TO STDOUT (FORMAT BINARY)"
        ) as out,
    ):
        data = b"".join(bytes(part) for part in out)
    header, trailer = data[:19], data[-2:]
    body = data[19:-2]
    count = _rows(body)
    size = len(body) // count
    db.execute("CREATE TABLE raw_copy (LIKE statestore_container INCLUDING ALL)")
    began = time.monotonic()
    for at in range(0, count, block):
        with (
            db.cursor() as cursor,
            cursor.copy(f"COPY raw_copy ({_COLUMNS}) FROM STDIN (FORMAT BINARY)") as into,
        ):
            into.write(header + body[at * size : (at + block) * size] + trailer)
    took = time.monotonic() - began
    db.execute("DROP TABLE raw_copy")
    return count / took


def _rows(body: bytes) -> int:
    """Rows in COPY data of fixed-width columns: the first row's length divides all."""
    at, fields = 2, int.from_bytes(body[:2], "big")
    for _ in range(fields):
        at += 4 + int.from_bytes(body[at : at + 4], "big")
    return len(body) // at
