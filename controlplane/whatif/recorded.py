"""What containers did, as arrays: the attempts of chosen jobs, read in one binary COPY, and the tasks made of them."""

import datetime as dt
from dataclasses import dataclass

import numpy as np
from django.db import connection

from wire.states import ContainerState

_PG_EPOCH_US = 946_684_800_000_000  # Postgres counts from 2000-01-01
_HEADER_BYTES, _TRAILER_BYTES = 19, 2  # of the binary COPY format
Columns = tuple[tuple[str, int], ...]  # of integers: name and bytes
_COLUMNS: Columns = (
    ("job", 8), ("group", 2), ("index", 4), ("attempt", 2), ("state", 2), ("started_us", 8), ("ended_us", 8),
)  # fmt: skip
# A container that has moved to history meanwhile is found twice: the ended one counts.
_ATTEMPTS = """
COPY (
    SELECT c.job_id, c.group_no, c.task_index, c.attempt, c.state, COALESCE(c.started_at, c.finished_at), c.finished_at
      FROM statestore_container_history c JOIN whatif_job j ON j.id = c.job_id
     WHERE c.finished_at > {begin}::timestamptz
    UNION ALL
    SELECT c.job_id, c.group_no, c.task_index, c.attempt, c.state,
           COALESCE(c.started_at, clock_timestamp()), clock_timestamp()
      FROM statestore_container c JOIN whatif_job j ON j.id = c.job_id
) TO STDOUT (FORMAT BINARY)
"""


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks that had a container at or after the window's beginning, in order of job, group and index.

    job, group, index: (t,). run_s: (t,) float64, of the attempt that succeeded, else of
    the last one; only what lay within or after the window. live: (t,) bool,
    still running, so that run_s is what it has run so far. cut: (t,) bool, the
    last attempt was ended by somebody or something else before its task was done.
    fails: (t,) bool, an attempt of it failed.
    """

    job: np.ndarray
    group: np.ndarray
    index: np.ndarray
    run_s: np.ndarray
    live: np.ndarray
    cut: np.ndarray
    fails: np.ndarray

    def of(self, job: int) -> slice:
        """Where its tasks stand."""
        begin, end = np.searchsorted(self.job, (job, job + 1)).tolist()
        return slice(begin, end)


def read_tasks(begin: dt.datetime) -> Tasks:
    """Of the jobs in the table ``whatif_job``, which the caller has made in this transaction."""
    # COPY takes no parameters; this is a time of ours, in ISO form.
    statement = _ATTEMPTS.format(begin=f"'{begin.astimezone(dt.UTC).isoformat()}'")
    return tasks_of(copied(statement, _COLUMNS), int(begin.timestamp() * 1e6))


def copied(statement: str, columns: Columns) -> np.ndarray:
    """(n,) what a binary COPY of integers gives; times in Postgres's µs."""
    pairs = [pair for name, size in columns for pair in ((f"{name}.length", ">i4"), (name, f">i{size}"))]
    row = np.dtype([("fields", ">i2"), *pairs])
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        data = b"".join(copy)
    return np.frombuffer(
        data, row, offset=_HEADER_BYTES, count=(len(data) - _HEADER_BYTES - _TRAILER_BYTES) // row.itemsize
    )


def unix_us(times: np.ndarray) -> np.ndarray:
    """Postgres's µs since 1970."""
    return times.astype(np.int64) + _PG_EPOCH_US


def tasks_of(rows: np.ndarray, begin_us: int) -> Tasks:
    """One of each task. rows: (n,) with the columns above, times in Postgres's µs."""
    columns = {name: rows[name].astype(np.int64) for name, _ in _COLUMNS}
    good = columns["state"] == ContainerState.SUCCEEDED
    ended = columns["state"] >= ContainerState.SUCCEEDED
    order = np.lexsort((ended, columns["attempt"], good, columns["index"], columns["group"], columns["job"]))
    c = {name: values[order] for name, values in columns.items()}
    n = len(order)
    new = np.ones(n, np.bool_)
    new[1:] = (np.diff(c["job"]) != 0) | (np.diff(c["group"]) != 0) | (np.diff(c["index"]) != 0)
    first = np.flatnonzero(new)
    last = np.append(first[1:], n) - 1 if len(first) else first
    failed = c["state"] == ContainerState.FAILED
    began = np.maximum(c["started_us"][last] + _PG_EPOCH_US, begin_us)
    run_s = np.maximum(c["ended_us"][last] + _PG_EPOCH_US - began, 0) / 1e6
    fails = np.logical_or.reduceat(failed, first) if len(first) else np.zeros(0, np.bool_)
    live = c["state"][last] < ContainerState.SUCCEEDED
    cut = c["state"][last] > ContainerState.FAILED
    return Tasks(c["job"][last], c["group"][last], c["index"][last], run_s, live, cut, fails)
