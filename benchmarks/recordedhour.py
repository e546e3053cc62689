"""A recorded hour: jobs that came, ran and ended, put into a store's tables as leaders would have written them."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import psycopg

from benchmarks.historyrows import add_partitions
from simulator.workload import Submission

_SUCCEEDED = 10
_LATE_S = 1.0  # between a job's submission and the start of its tasks
_JOBS = """
COPY statestore_job (id, name, kind, queue, owner_id, priority, tags, spec, home_id, submitted_at, state, message,
    epoch, admitted_at, started_at, finished_at) FROM STDIN
"""
_GROUPS = """
COPY statestore_taskgroup (job_id, no, name, count, memory_mib, vcores_milli, gpus, execution_type, state, running,
    succeeded, failed, killed, retried, started_at, finished_at) FROM STDIN
"""
_CONTAINERS = """
COPY statestore_container_history (id, sub_cluster_id, node_id, job_id, group_no, task_index, attempt, state, epoch,
    memory_mib, vcores_milli, gpus, allocated_at, started_at, finished_at, exit_code, reason, peak_memory_mib, cpu_ms)
    FROM STDIN
"""
_NODES = """
INSERT INTO statestore_node (sub_cluster_id, name, rack, labels, memory_mib, vcores_milli, gpus, enforces,
    host, version, registered_at, state, health, health_text, duty, duty_message)
SELECT s.id, s.name || '-' || i, s.name || '-rack' || i / 40, '{}', 131072, 32000, 0, '["memory", "cpu"]',
       '10.0.0.1', '1', now(), 1, 0, '', 'in_service', ''
  FROM statestore_subcluster s, generate_series(1, %s) i
"""


@dataclass(frozen=True, slots=True)
class _Placed:
    number: int
    job: Submission
    home: int
    begin: dt.datetime

    @property
    def ended(self) -> dt.datetime:
        return self.begin + dt.timedelta(seconds=_LATE_S + float(np.max(self.job.groups[0].run_s)))


def add_nodes(url: str, each: int) -> None:
    """So many nodes of 32 cores in each sub-cluster. They answer nobody: only what is written of them is read."""
    with psycopg.connect(url) as store:
        store.execute(_NODES, [each])


def record(url: str, begin: dt.datetime, jobs: Sequence[Submission]) -> None:
    """Jobs of one group each, submitted from ``begin`` on, of which every task succeeded at its first attempt."""
    with psycopg.connect(url) as store:
        store.execute("SET synchronous_commit = off")
        homes = [home for (home,) in store.execute("SELECT id FROM statestore_subcluster ORDER BY id").fetchall()]
        owner, first = store.execute(
            "SELECT (SELECT id FROM accounts_user WHERE username = 'tenant'),"
            " (SELECT COALESCE(max(id), 0) + 1 FROM statestore_job)"
        ).fetchone() or (0, 0)
        placed = [
            _Placed(first + at, job, homes[at % len(homes)], begin + dt.timedelta(seconds=job.at_s))
            for at, job in enumerate(jobs)
        ]
        _write(store, placed, owner)
        store.execute("ANALYZE statestore_job, statestore_taskgroup, statestore_container_history")


def _write(store: psycopg.Connection, placed: Sequence[_Placed], owner: int) -> None:
    with store.cursor() as cursor:
        with cursor.copy(_JOBS) as copy:
            for p in placed:
                copy.write_row(
                    (p.number, "recorded", "batch", p.job.queue, owner, p.job.priority, "[]", _spec(p.job), p.home,
                     p.begin, _SUCCEEDED, "", 1, p.begin, p.begin, p.ended)
                )  # fmt: skip
        add_partitions(store)
        with cursor.copy(_GROUPS) as copy:
            for p in placed:
                group = p.job.groups[0]
                copy.write_row(
                    (p.number, 0, "work", group.count, group.memory_mib, group.vcores_milli, 0, 0, _SUCCEEDED, 0,
                     group.count, 0, 0, 0, p.begin, p.ended)
                )  # fmt: skip
        with cursor.copy(_CONTAINERS) as copy:
            counter = 0
            for p in placed:
                counter = _containers(copy, p, counter)


def _containers(copy: psycopg.Copy, p: _Placed, counter: int) -> int:
    """The attempts of one job; how many containers there are by then."""
    group = p.job.groups[0]
    start = p.begin + dt.timedelta(seconds=_LATE_S)
    for task, run_s in enumerate(np.broadcast_to(group.run_s, group.count).tolist()):
        counter += 1
        copy.write_row(
            ((p.home << 52) | counter, p.home, 1, p.number, 0, task, 1, _SUCCEEDED, 1, group.memory_mib,
             group.vcores_milli, 0, start, start, start + dt.timedelta(seconds=run_s), 0, 0, 1, 1)
        )  # fmt: skip
    return counter


def _spec(job: Submission) -> str:
    group = job.groups[0]
    command = ["python3", "work.py", "--part", "all"]
    return json.dumps(
        {"groups": [{"name": "work", "count": group.count, "command": command, "env": {"REGION": "west"}, "after": []}]}
    )
