"""What must hold after every fault: ``tests.invariants`` from one snapshot, and what the clients were promised."""

import contextlib
from typing import Any

import psycopg

from tests import invariants
from tests.acceptance.cluster import SUB_CLUSTER, Cluster
from tests.patience import RanOut, wait_until
from wire.states import JobState, TaskState


def holds(cluster: Cluster) -> None:
    """Assert the invariants, that acknowledged jobs exist, and that what had ended before is as it was."""
    invariants.check(cluster.stack.database_url())
    with cluster.connect() as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        every_submit_exists(connection, cluster.acknowledged)
        ended = invariants.terminal(invariants.over(connection))
    assert not (wrong := invariants.changed(cluster.ended, ended)), "\n".join(wrong)
    cluster.ended = ended
    with contextlib.suppress(RanOut):  # what is wrong for good has not missed its time
        wait_until(lambda: not queue_use(cluster), 15, "the queues' use equals the sum of their containers", 0.2)
    assert not (wrong := queue_use(cluster)), "\n".join(wrong)


def every_submit_exists(connection: psycopg.Connection, acknowledged: set[int]) -> None:
    found = connection.execute("SELECT id FROM statestore_job WHERE id = ANY(%s)", (list(acknowledged),)).fetchall()
    assert {row[0] for row in found} == acknowledged, "acknowledged jobs are missing"


def queue_use(cluster: Cluster) -> list[str]:
    """Where the RM's own sums differ from the rows; both move, so the caller waits for agreement."""
    shown = cluster.summary()
    if shown is None:
        return ["there is no summary"]
    with cluster.connect() as connection:
        return invariants.queue_usage(invariants.over(connection), SUB_CLUSTER, shown.queues)


def outcomes(cluster: Cluster, jobs: list[int]) -> list[tuple[Any, ...]]:
    """What became of these jobs and their tasks, in order, with nothing that differs from run to run."""
    rows = cluster.sql(
        "SELECT j.id, j.name, j.state, t.group_no, t.index, t.state, t.failures, t.exit_code FROM statestore_job j"
        " JOIN statestore_task t ON t.job_id = j.id WHERE j.id = ANY(%s) ORDER BY j.id, t.group_no, t.index",
        jobs,
    )
    number = {job: at for at, job in enumerate(jobs)}
    return [
        (number[job], name, JobState(state).name, group, index, TaskState(task).name, failures, code)
        for job, name, state, group, index, task, failures, code in rows
    ]
